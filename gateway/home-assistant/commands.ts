/** Executes commands from Home Assistant, with a monitor's checks and limits. Nothing answers it: a refusal is in the log. */

import { chimes } from "../../device/protocol/messages.js";
import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import { askedAnnouncement, longestSeconds } from "../api/announcement.js";
import type { Core } from "../extension.js";
import { parseJson } from "../json.js";
import { HttpProblem } from "../problem.js";
import { TokenBucket } from "../rates.js";
import type { Device } from "../sessions/device.js";
import { type Outcome, type Refused, refuse } from "../sockets/monitor-commands.js";
import { type Facts, wholeBrightness } from "./entities.js";

/** A monitor's message without its target, a sound, or a refusal. */
type Ask =
	| { readonly type: "control_device"; readonly payload: Readonly<Record<string, unknown>> }
	| { readonly type: "trigger_ota"; readonly version: string }
	| { readonly sound?: string; readonly text?: string; readonly volume?: number; readonly seconds?: number }
	| Refused;

/** By the key in the topic, what a payload asks for. */
const commands: Readonly<Record<string, (text: string, facts: Facts) => Ask>> = {
	volume: (text) => control("set_volume", Math.round(numberOf(text))),
	brightness: (text) => control("set_brightness", wholeBrightness(numberOf(text)) / 100),
	haptics: (text) => control("set_haptics", Math.round(numberOf(text))),
	effect: (text) => control("set_led", text),
	ring: (text) => onlyFor("OFF", text) ?? control("set_brightness", 0),
	identify: (text) => onlyFor("PRESS", text) ?? control("identify"),
	restart: (text) => onlyFor("PRESS", text) ?? control("restart"),
	speech: (text) => ({ text }),
	siren: commandSiren,
	firmware: (text, { release }) => {
		const none = refuse("no_firmware", "there is no release for this device");
		return onlyFor("install", text) ?? (release ? { type: "trigger_ota", version: release.version } : none);
	},
};

export class Commands {
	readonly #core: Core;
	readonly #factsOf: (device: Device) => Facts;
	readonly #bucket: TokenBucket;

	constructor(core: Core, factsOf: (device: Device) => Facts) {
		this.#core = core;
		this.#factsOf = factsOf;
		const { commandsASecond: perSecond, commandBurst: burst } = core.limits;
		this.#bucket = new TokenBucket({ perSecond, burst, monotonic: core.monotonic });
	}

	/** @param isRetained from before this connection: it would be executed at each one */
	async execute(deviceId: string, key: string, text: string, isRetained: boolean): Promise<void> {
		const { metrics, log, onChange } = this.#core;
		const outcome = await this.#outcomeOf(deviceId, key, text, isRetained);
		if (outcome.refusal) {
			const { code, message: problem } = outcome.refusal;
			metrics.refusedCommands.inc({ code });
			log.warn({ deviceId, entity: key, code, problem }, "Home Assistant: command refused");
			return;
		}
		metrics.commands.inc({ type: outcome.command });
		// The broker does not say who has sent it.
		const person = { name: "Home Assistant", role: "monitor" } as const;
		onChange({ person, remoteAddress: "MQTT", deviceId, what: key, body: text });
	}

	/** Asks synchronously: commands reach a device in their order. */
	async #outcomeOf(targetId: string, key: string, text: string, isRetained: boolean): Promise<Outcome> {
		const { sessions, limits, execute } = this.#core;
		if (!this.#bucket.take()) return refuse("rate_limited", `at most ${limits.commandsASecond} a second`);
		if (isRetained) return refuse("invalid_message", "it is retained; send it without retain");
		const device = sessions.devices.get(targetId);
		if (!device) return refuse("unknown_target", "no device has this name");
		const command = Object.hasOwn(commands, key) ? commands[key] : undefined;
		if (!command) return refuse("unsupported_command", "no entity of a device takes such a command");
		const ask = command(text, this.#factsOf(device));
		if ("refusal" in ask) return ask;
		return "type" in ask ? execute({ ...ask, targetId }) : this.#play(device, ask);
	}

	async #play(
		{ deviceId, session }: Device,
		{ seconds, ...what }: { readonly seconds?: number },
	): Promise<Outcome> {
		const asked = { ...what, targets: { devices: [deviceId] } };
		const announcer = this.#core.announcer();
		if (!announcer) return refuse("unsupported_command", "this gateway keeps no sounds");
		if (!session.isReachable) return refuse("target_offline", "the device is not connected");
		if (!matches(askedAnnouncement, asked))
			return refuse("invalid_command", describeProblem(findProblem(askedAnnouncement, asked)));
		try {
			const id = await announcer.begin(asked);
			const stop = {
				type: "control_device",
				targetId: deviceId,
				payload: control("stop_sound", { id }).payload,
			};
			if (seconds !== undefined) setTimeout(() => void this.#core.execute(stop), seconds * 1000).unref();
			return { command: "control_device" };
		} catch (error) {
			if (!(error instanceof HttpProblem)) throw error;
			return refuse("invalid_command", error.refusal.detail);
		}
	}
}

function control(command: string, value?: unknown) {
	return { type: "control_device", payload: { command, ...(value !== undefined && { value }) } } as const;
}

/** @returns NaN, which every check refuses, if it is no number */
function numberOf(text: string): number {
	return text.trim() === "" ? Number.NaN : Number(text);
}

function onlyFor(payload: string, text: string): Refused | undefined {
	return text === payload ? undefined : refuse("invalid_command", `the payload must be "${payload}"`);
}

function commandSiren(text: string, { tones }: Facts): Ask {
	const asked = parseJson(text);
	if (!isRecord(asked) || (asked.state !== "ON" && asked.state !== "OFF"))
		return refuse("invalid_command", 'the payload must be JSON with "state": "ON" or "OFF"');
	if (asked.state === "OFF") return control("stop_sound");
	const { tone = chimes[0], volume_level: level, duration } = asked;
	const sound = typeof tone === "string" ? tones.get(tone) : undefined;
	// It is short, and plays at the device's volume, whatever else was asked for.
	if (sound === undefined) return control("play_audio", tone);
	const seconds = Math.max(1, Math.round(Number(duration ?? longestSeconds)));
	if (Number.isNaN(seconds)) return refuse("invalid_command", "duration must be a number of seconds");
	const volume = level !== undefined && { volume: Math.round(Number(level) * 100) };
	return { sound, ...volume, ...(seconds < longestSeconds && { seconds }) };
}
