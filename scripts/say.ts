/** `npm run say`: announces a sound file or a text on devices, now or later, and prints the result of each device. */

import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { convertWav } from "../gateway/announcements/pcm.js";
import { type Announcement, maxNameLength, type Play } from "../gateway/api/announcement.js";
import type { RequestBody } from "../gateway/api/client/request.js";
import { cutText } from "../gateway/api/text.js";
import {
	type Arguments,
	onlyArgument,
	print,
	runCommand,
	UsageError,
	wholeNumber,
} from "./command-line/command.js";
import { GatewayClient, gatewayOption } from "./command-line/gateway-client.js";
import { cancel, printTimes, readLater, schedule } from "./say/times.js";

const usage = `Usage: npm run say -- --room Kitchen dinner.wav
       npm run say -- --device dev-1-7cdfa1a1b2c3 "Dinner is ready"
       npm run say -- --tags "shop-berlin and not beta" "We close"
       espeak-ng --stdout "Dinner is ready" | npm run say -- --all -
       npm run say -- --in 12m --all "The pizza"

Announces a WAV file (16-bit PCM), a file of another format that the gateway decodes (DECODE_COMMAND), or a text that it speaks
(SPEECH_COMMAND), and prints the result of each device. - reads a WAV file or a text from standard input. Ctrl-C stops playback.

  --all, --room Kitchen, --device dev-1-7cdfa1a1b2c3   targets; --device can be repeated
  --tags "shop-berlin and not (beta or test)"    targets: devices whose tags match the expression
  --volume 40                                    volume of this announcement; default: volume of each device
  --urgent                                       interrupt playback, which resumes afterwards, and override mute
  --chime                                        play a chime first
  --in 12m, --at 17:50, --at 2026-11-28T07:30    schedule it in the gateway's time zone
  --times                                        list schedules
  --cancel <id>                                  cancel what was scheduled with --in or --at
  --gateway                                      default http://127.0.0.1:8080

The monitor token is read from MONITOR_TOKEN, or from the data folder (DATA_DIR, default data) of the gateway on this computer.
Exit codes: 0 played on all devices, 1 error, 3 not played on some devices.`;

const options = {
	all: { type: "boolean", default: false },
	room: { type: "string" },
	tags: { type: "string" },
	device: { type: "string", multiple: true },
	volume: { type: "string" },
	urgent: { type: "boolean", default: false },
	chime: { type: "boolean", default: false },
	in: { type: "string" },
	at: { type: "string" },
	times: { type: "boolean", default: false },
	cancel: { type: "string" },
	gateway: gatewayOption,
} as const;

const pollMs = 300;
const partlyPlayed = 3;

await runCommand({ name: "say", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const { times, cancel: cancelled } = values;
	if (times || cancelled !== undefined) {
		if (positionals.length > 0) throw new UsageError("--times and --cancel take no sound or text.");
		const gateway = new GatewayClient(values.gateway);
		return cancelled === undefined ? printTimes(gateway) : cancel(gateway, cancelled);
	}
	const what = onlyArgument(positionals, "Specify one file, one text in quotes, or -.");
	const { all, room, tags, device, volume: volumeText, urgent, chime } = values;
	const targetOptions = Object.entries({ all, room, tags, devices: device }).filter(([, value]) => value);
	if (targetOptions.length !== 1) throw new UsageError("Specify one of --all, --room, --tags and --device.");
	const targets = Object.fromEntries(targetOptions);
	const volume = volumeText === undefined ? undefined : wholeNumber("--volume", volumeText, 0, 100);
	const later = readLater(values.in, values.at);
	const content = await contentOf(what);
	const gateway = new GatewayClient(values.gateway);
	const source = "text" in content ? content : { sound: await upload(gateway, content) };
	const body: RequestBody<"POST /api/announcements"> = {
		...source,
		targets,
		volume,
		priority: urgent ? "urgent" : undefined,
		chime: chime ? "attention" : undefined,
	};
	if (later) return schedule(gateway, later, body);
	const { id } = await gateway.request("POST /api/announcements", { body });
	process.once("SIGINT", () => void gateway.request("DELETE /api/announcements/:id", { params: { id } }));
	const { counts, devices } = await watch(gateway, id);
	if (counts.played < devices.length) process.exitCode = partlyPlayed;
}

type Content = SoundFile | { readonly text: string };
interface SoundFile {
	/** WAV file that devices can play, or a file that the gateway decodes. */
	readonly file: Uint8Array<ArrayBuffer>;
	/** Undefined for a WAV file that devices can play. */
	readonly fileType?: string;
	readonly name: string;
}

/** Uploads a sound temporarily. @returns its id @throws {Rejection} */
async function upload(gateway: GatewayClient, { name, ...file }: SoundFile): Promise<string> {
	const query = { name, temporary: true };
	return (await gateway.request("POST /api/sounds", { query, ...file })).id;
}

/** @throws {UsageError} */
async function contentOf(what: string): Promise<Content> {
	const isFile = what !== "-" && (existsSync(what) || /\.(wav|mp3|m4a|ogg|opus|flac)$/i.test(what));
	if (!isFile && what !== "-") return { text: what };
	if (isFile && !existsSync(what)) throw new UsageError(`File ${what} not found.`);
	const bytes = isFile ? await readFile(what) : await buffer(process.stdin);
	if (!isFile && isUtf8(bytes) && !bytes.includes(0)) return { text: bytes.toString().trim() };
	const name = isFile ? cutText(basename(what), maxNameLength) : "say";
	try {
		return { file: new Uint8Array(Buffer.concat([...convertWav(bytes)])), name };
	} catch {
		return { file: Uint8Array.from(bytes), fileType: "application/octet-stream", name };
	}
}

/** Prints each change until the end. @returns the result */
async function watch(gateway: GatewayClient, id: string): Promise<Announcement> {
	const shown = new Map<string, string>();
	for (;;) {
		const announcement = await gateway.request("GET /api/announcements/:id", { params: { id } });
		for (const play of announcement.devices) {
			const line = describe(play);
			if (shown.get(play.deviceId) === line) continue;
			shown.set(play.deviceId, line);
			print(`${play.deviceId}  ${line}`);
		}
		if (announcement.endedAt !== null) return announcement;
		await setTimeout(pollMs);
	}
}

function describe({ state, reason, lateMs, heardMs, underruns }: Play): string {
	const heard = heardMs === null ? [] : [`${(heardMs / 1000).toFixed(1)} s`];
	const late = lateMs === null ? [] : [`started ${(lateMs / 1000).toFixed(1)} s late`];
	const waits = underruns === 0 ? [] : [`buffered ${underruns} times`];
	return [state, ...(reason === null ? [] : [reason]), ...heard, ...late, ...waits].join(", ");
}
