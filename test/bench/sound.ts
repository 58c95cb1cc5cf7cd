/**
 * Announcements: delay until a virtual device plays, even for an urgent one over another, time between the starts of
 * several devices, and cost of serving a sound to many devices compared with nginx.
 */

import { setTimeout } from "node:timers/promises";
import type { AnnouncementRequest } from "../../gateway/api/announcement.js";
import { createClient } from "../../gateway/api/client/request.js";
import { type Owner, withCleanup } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { whyMissing } from "../support/programs.js";
import { bytesPerSecond, noise, wav } from "../support/sounds.js";
import type { Child } from "./child.js";
import { alternate, pick, roundCount, start, startGateway } from "./harness.js";
import type { Listeners } from "./load/listeners.js";
import type { Players } from "./load/players.js";
import { oursAtMost, percentile, type Row, Rows } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { Nginx } from "./servers/nginx.js";

const table = new Rows("sound");
const together = 20;
/** Separate processes, because in one event loop they would start one after another. */
const inProcess = 5;
const listeners = 1000;
const listenedSeconds = 60;
/** Each round takes a minute for either side. */
const listenedRounds = 2;

interface Tokens {
	readonly device: string;
	readonly monitor: string;
}

export const run = (): Promise<readonly Row[]> =>
	withCleanup(async (t) => {
		const gateway = startGateway(t);
		const { url, tokens } = await gateway.request("listen");
		return [...(await measureBeginnings(t, url, tokens)), ...(await compareServing(t, gateway, url, tokens))];
	});

/** Duration of a sound that is interrupted. */
const interruptedSeconds = 4;
/** Fade-out of the codec, which is heard again. */
const rampMs = 40;

/** Noise, because the start of silence would be inaudible. */
function sound(seconds: number, seed?: number): Uint8Array<ArrayBuffer> {
	return new Uint8Array(wav(noise(bytesPerSecond * seconds, seed)));
}

async function upload(url: string, { monitor }: Tokens, file: Uint8Array<ArrayBuffer>): Promise<string> {
	const headers = { Authorization: `Bearer ${monitor}` };
	const { id } = await createClient({ base: url, headers }).request("POST /api/sounds", {
		query: { name: "bench" },
		file,
	});
	return id;
}

async function measureBeginnings(t: Owner, url: string, tokens: Tokens): Promise<readonly Row[]> {
	const headers = { Authorization: `Bearer ${tokens.monitor}` };
	const { request } = createClient({ base: url, headers });
	const id = await upload(url, tokens, sound(1, 2));
	const long = await upload(url, tokens, sound(interruptedSeconds));
	const all = Array.from({ length: together / inProcess }, (): Child<Players> => start(t, "load/players.ts"));
	const ids: string[] = [];
	for (const [index, child] of all.entries()) {
		const first = 0xa0_0000 + index * inProcess;
		const serials = Array.from({ length: inProcess }, (_, at) => (first + at).toString(16));
		ids.push(...(await child.request("start", { url, token: tokens.device, serials })));
	}
	await eventually(
		() => request("GET /api/devices"),
		({ devices: known }) => known.filter(({ connected }) => connected).length >= together,
	);
	// The startup chime must not be mistaken for the sound.
	await setTimeout(3_000);
	/** @returns start times of the devices, in milliseconds after the request */
	const begin = async (body: AnnouncementRequest & { readonly targets: { devices: readonly string[] } }) => {
		await Promise.all(all.map((child) => child.request("forget")));
		const began = performance.timeOrigin + performance.now();
		const { id: announced } = await request("POST /api/announcements", { body });
		const firsts = await Promise.all(all.map((child) => child.request("firsts", body.targets.devices)));
		return { announced, afterMs: firsts.flat().map((at) => at - began) };
	};
	const ended = (announced: string) =>
		eventually(
			() => request("GET /api/announcements/:id", { params: { id: announced } }),
			({ endedAt }) => endedAt !== null,
		);
	const play = async (devices: readonly string[]) => {
		const { announced, afterMs } = await begin({ sound: id, targets: { devices } });
		await ended(announced);
		return afterMs;
	};
	const alone: number[] = [];
	for (let time = 0; time < 4 * roundCount; time += 1) alone.push(...(await play(ids.slice(0, 1))));
	const spreads: number[] = [];
	for (let time = 0; time < 2 * roundCount; time += 1) {
		const firsts = await play(ids);
		spreads.push(Math.max(...firsts) - Math.min(...firsts));
	}
	const urgent: number[] = [];
	const leftOut: number[] = [];
	const [player] = all;
	const [deviceId = ""] = ids;
	for (let time = 0; player && time < 4 * roundCount; time += 1) {
		const targets = { devices: [deviceId] };
		const { announced } = await begin({ sound: long, targets });
		await setTimeout(500 + 100 * (time % 10));
		urgent.push(...(await begin({ sound: id, targets, priority: "urgent" })).afterMs);
		await ended(announced);
		leftOut.push(await player.request("leftOutMs", { deviceId, seconds: interruptedSeconds }));
	}
	return [
		table.ours("request to first sample, p95", "ms", percentile(alone, 95), oursAtMost(500)),
		table.ours(
			`first samples of ${together} devices apart, p95`,
			"ms",
			percentile(spreads, 95),
			oursAtMost(30),
		),
		table.ours(
			"request to first sample of an urgent one, p95",
			"ms",
			percentile(urgent, 95),
			oursAtMost(100),
		),
		table.ours("left out of the sound it interrupts, most", "ms", Math.max(0, ...leftOut), oursAtMost(1)),
		table.ours(
			"heard twice of that sound, most",
			"ms",
			Math.max(0, ...leftOut.map((ms) => -ms)),
			oursAtMost(rampMs),
		),
	];
}

async function compareServing(
	t: Owner,
	gateway: Child<GatewayServer>,
	url: string,
	tokens: Tokens,
): Promise<readonly Row[]> {
	const missing = whyMissing("nginx");
	if (missing) {
		console.log(`\nsound: the comparison with nginx is left out. ${missing}`);
		return [];
	}
	const file = sound(listenedSeconds);
	const id = await upload(url, tokens, file);
	const nginx = await Nginx.start(t, { "sound.wav": Buffer.from(file) });
	const load: Child<Listeners> = start(t, "load/listeners.ts", { hasLowPriority: true });
	const gatewayCpu = async () => (await gateway.request("usage", { isSettled: false })).cpuMicros;
	const used = (address: string, token: string, cpu: () => number | Promise<number>) => async () => {
		const before = await cpu();
		const asked = { url: address, token, listeners, seconds: listenedSeconds };
		const { underruns } = await load.request("listen", asked);
		return { milliseconds: ((await cpu()) - before) / 1000, underruns };
	};
	const rounds = await alternate(
		used(`${url}/sounds/${id}.wav`, tokens.device, gatewayCpu),
		used(`${nginx.url}/sound.wav`, "", () => nginx.cpuMicros()),
		listenedRounds,
	);
	const what = `${listeners} devices play ${listenedSeconds} s`;
	const silences = rounds.map(({ ours }) => ours.underruns);
	return [
		table.compare(
			`${what}: CPU of the server`,
			"ms",
			pick(rounds, ({ milliseconds }) => milliseconds),
		),
		table.ours(`${what}: 0.1 s without sound`, "", silences, oursAtMost(0)),
	];
}
