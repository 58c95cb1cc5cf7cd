/**
 * Executes commands from Home Assistant with the checks of a monitor. Rejections are logged, as MQTT has no
 * response.
 */

import { chimes, lightEffects } from "../../device/protocol/messages.js";
import { entryOf, isRecord } from "../../device/protocol/schema.js";
import { TokenBucket } from "../access/rates.js";
import { type AnnouncementRequest, maxSoundSeconds } from "../api/announcement.js";
import { usualQuietHours } from "../api/client/times.js";
import { parseJson, pick } from "../api/json.js";
import { quietHoursRequest } from "../api/quiet-hours.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import type { Device } from "../sessions/device.js";
import { changeIn, type Outcome, type Rejected, rejectMessage } from "../sockets/monitor-commands.js";
import { type Facts, mapSliders, noEffect, wholeBrightness } from "./entities.js";

/** Monitor message without its target, request to a service, or a rejection. */
type Ask =
	| { readonly type: "control_device"; readonly payload: Readonly<Record<string, unknown>> }
	| { readonly type: "trigger_ota"; readonly version: string }
	| ServiceRequest
	| Rejected;

/** Request to a service, whose route and body are recorded. */
interface ServiceRequest {
	readonly what: "POST /api/announcements" | "PUT /api/quiet-hours";
	/** Body, for announcements without targets. */
	readonly after: object;
	/** Time after which an announcement is stopped. Default: its end. */
	readonly seconds?: number;
}

/** Latest light requested for a device, as Home Assistant sends color and effect separately. */
interface Lit {
	color: readonly number[];
	effect: string;
}

type CommandKind = (text: string, facts: Facts, lit: Lit) => Ask;

/** Parsers of payloads, by the entity in the topic. */
const commands: Readonly<Record<string, CommandKind>> = {
	volume: (text) => control("set_volume", Math.round(numberOf(text))),
	mute: (text) => control("set_mute", isOn(text)),
	brightness: (text) => control("set_brightness", wholeBrightness(numberOf(text)) / 100),
	...mapSliders(
		({ command }) =>
			(text: string) =>
				control(command, Math.round(numberOf(text))),
	),
	effect: (text, _facts, lit) => {
		lit.effect = text;
		if (text === noEffect) return control("set_light", null);
		return lightEffects.some((effect) => effect === text)
			? control("set_light", { ...lit })
			: control("set_led", text);
	},
	color: (text, _facts, lit) => {
		lit.color = text.split(",").map(numberOf);
		// Ends a preset, such as the rainbow.
		if (!lightEffects.some((effect) => effect === lit.effect)) lit.effect = "solid";
		return control("set_light", { ...lit });
	},
	progress: (text, _facts, { color }) =>
		control("set_light", { color, effect: "progress", progress: numberOf(text) / 100 }),
	auto_brightness: (text) => control("set_auto_brightness", isOn(text)),
	quiet: (text, facts) => quietHoursOf(facts, { on: isOn(text) }),
	quiet_from: (from, facts) => quietHoursOf(facts, { from }),
	quiet_until: (until, facts) => quietHoursOf(facts, { until }),
	ring: (text) => onlyFor("OFF", text) ?? control("set_brightness", 0),
	identify: (text) => onlyFor("PRESS", text) ?? control("identify"),
	restart: (text) => onlyFor("PRESS", text) ?? control("restart"),
	speech: (text) => announcement({ text }),
	urgent_speech: (text) => announcement({ text, priority: "urgent" }),
	siren: commandSiren,
	firmware: (text, { release }) => {
		const none = rejectMessage("no_firmware", "there is no release for this device");
		return onlyFor("install", text) ?? (release ? { type: "trigger_ota", version: release.version } : none);
	},
};

/** Rate limit per device, which sends a report after each command. */
const rate = { perSecond: 10, burst: 20 };
const turnMs = 100;

/** Runs a device's commands within the rate limit. Excess ones are queued, only the latest per entity. */
class CommandQueue {
	readonly #bucket: TokenBucket;
	/** Queued commands by entity, in order. */
	readonly #waiting = new Map<string, () => void>();
	readonly #onReplaced: (count: number) => void;
	#replaced = 0;

	/** @param onReplaced called once the queue is empty, if any command was replaced */
	constructor(monotonic: () => number, onReplaced: (count: number) => void) {
		this.#bucket = new TokenBucket({ ...rate, monotonic });
		this.#onReplaced = onReplaced;
	}

	add(entity: string, run: () => void): void {
		const isFirst = this.#waiting.size === 0;
		if (isFirst && this.#bucket.take()) return run();
		if (this.#waiting.delete(entity)) this.#replaced += 1;
		this.#waiting.set(entity, run);
		if (isFirst) this.#plan();
	}

	#plan(): void {
		setTimeout(() => this.#runWaiting(), turnMs).unref();
	}

	#runWaiting(): void {
		for (const [entity, run] of this.#waiting) {
			if (!this.#bucket.take()) return this.#plan();
			this.#waiting.delete(entity);
			run();
		}
		if (this.#replaced > 0) this.#onReplaced(this.#replaced);
		this.#replaced = 0;
	}
}

export class EntityCommands {
	readonly #core: Core;
	readonly #factsOf: (device: Device) => Facts;
	readonly #states = new WeakMap<Device, { readonly queue: CommandQueue; readonly lit: Lit }>();

	constructor(core: Core, factsOf: (device: Device) => Facts) {
		this.#core = core;
		this.#factsOf = factsOf;
	}

	/** @param isRetained published before this connection, so it would run at each connection */
	take(deviceId: string, entity: string, text: string, isRetained: boolean): void {
		const { log, sessions } = this.#core;
		const device = sessions.devices.get(deviceId);
		const command = entryOf(commands, entity);
		const run = (work: () => Promise<Outcome>) => {
			const done = this.#finish(deviceId, entity, work());
			done.catch((error) => log.error({ err: error }, "Home Assistant"));
		};
		const no = (...rejection: Parameters<typeof rejectMessage>) =>
			run(async () => rejectMessage(...rejection));
		if (isRetained) no("invalid_message", "it is retained; send it without retain");
		else if (!device) no("unknown_target", "no device has this name");
		else if (!command) no("unsupported_command", "no entity of a device takes such a command");
		else {
			const { queue, lit } = this.#stateOf(device);
			queue.add(entity, () => run(() => this.#execute(device, command(text, this.#factsOf(device), lit))));
		}
	}

	#stateOf(device: Device) {
		const known = this.#states.get(device);
		if (known) return known;
		const { monotonic, metrics, log } = this.#core;
		const { deviceId } = device;
		const queue = new CommandQueue(monotonic, (count) => {
			metrics.rejectedCommands.inc({ code: "rate_limited" }, count);
			log.warn({ deviceId, count }, "Home Assistant: rate limit exceeded, commands replaced by newer ones");
		});
		const state = { queue, lit: { color: [255, 255, 255], effect: "solid" } };
		this.#states.set(device, state);
		return state;
	}

	async #finish(deviceId: string, entity: string, work: Promise<Outcome>): Promise<void> {
		const { metrics, log } = this.#core;
		const outcome = await work;
		if (outcome.rejection) {
			const { code, message: problem } = outcome.rejection;
			metrics.rejectedCommands.inc({ code });
			log.warn({ deviceId, entity, code, problem }, "Home Assistant: command rejected");
			return;
		}
		metrics.commands.inc({ type: outcome.command });
	}

	/** Starts synchronously, so that commands reach a device in order. */
	async #execute(device: Device, ask: Ask): Promise<Outcome> {
		if ("rejection" in ask) return ask;
		const { execute, events } = this.#core;
		const { deviceId } = device;
		const isForService = "what" in ask;
		const outcome = await (isForService
			? this.#request(device, ask)
			: execute({ ...ask, targetId: deviceId }));
		// The broker does not identify the sender.
		const person = { name: "Home Assistant", role: "monitor" } as const;
		const { what, after } = isForService ? ask : changeIn({ ...ask, targetId: deviceId });
		if (!outcome.rejection) events.emit("changed", { person, remoteAddress: "MQTT", deviceId, what, after });
		return outcome;
	}

	async #request({ deviceId, session }: Device, { what, after, seconds }: ServiceRequest): Promise<Outcome> {
		const { execute, services } = this.#core;
		const { announcementJobs: announcements, quietHours } = services;
		try {
			if (what === "PUT /api/quiet-hours") await quietHours?.set(after, null);
			else if (!announcements) return rejectMessage("unsupported_command", "this gateway keeps no sounds");
			else if (!session.isReachable) return rejectMessage("target_offline", "the device is not connected");
			else {
				const request = { ...after, targets: { devices: [deviceId] } };
				const id = await announcements.begin(request, { by: null });
				const stop = { ...control("stop_sound", { id }), targetId: deviceId };
				if (seconds !== undefined) setTimeout(() => void execute(stop), seconds * 1000).unref();
			}
			return { command: "control_device" };
		} catch (error) {
			if (!(error instanceof RequestError)) throw error;
			return rejectMessage("invalid_command", error.rejection.detail);
		}
	}
}

function announcement(
	after: Pick<AnnouncementRequest, "sound" | "text" | "volume" | "priority">,
	seconds?: number,
): ServiceRequest {
	return { what: "POST /api/announcements", after, ...(seconds !== undefined && { seconds }) };
}

/** Returns quiet hours of this device: the ones that apply, with a change. */
function quietHoursOf({ device, quietHours }: Facts, change: object): Ask {
	const known = { on: false, ...usualQuietHours, ...quietHours?.of(device) };
	const request = { ...known, ...change, targets: { device: device.deviceId } };
	return { what: "PUT /api/quiet-hours", after: Object(pick(quietHoursRequest, request)) };
}

function control(command: string, value?: unknown) {
	return { type: "control_device", payload: { command, ...(value !== undefined && { value }) } } as const;
}

/** @returns an invalid payload itself, which every check rejects */
function isOn(text: string): boolean | string {
	return text === "ON" || (text !== "OFF" && text);
}

/** @returns NaN for an invalid number, which every check rejects */
function numberOf(text: string): number {
	return text.trim() === "" ? Number.NaN : Number(text);
}

function onlyFor(payload: string, text: string): Rejected | undefined {
	return text === payload ? undefined : rejectMessage("invalid_command", `the payload must be "${payload}"`);
}

function commandSiren(text: string, { tones }: Facts): Ask {
	const request = parseJson(text);
	if (!isRecord(request) || (request.state !== "ON" && request.state !== "OFF"))
		return rejectMessage("invalid_command", 'the payload must be JSON with "state": "ON" or "OFF"');
	if (request.state === "OFF") return control("stop_sound");
	const { tone = chimes[0], volume_level: level, duration } = request;
	const sound = typeof tone === "string" ? tones.get(tone) : undefined;
	// Chimes are short and play at the device's volume, so other options are ignored.
	if (sound === undefined) return control("play_audio", tone);
	const seconds = Math.max(1, Math.round(Number(duration ?? maxSoundSeconds)));
	if (Number.isNaN(seconds)) return rejectMessage("invalid_command", "duration must be a number of seconds");
	const volume = level !== undefined && { volume: Math.round(Number(level) * 100) };
	return announcement({ sound, ...volume }, seconds < maxSoundSeconds ? seconds : undefined);
}
