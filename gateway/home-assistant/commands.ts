/** Executes commands from Home Assistant, with a monitor's checks and limits. Nothing answers it: a refusal is in the log. */

import { describeProblem, findProblem, matches } from "../../device/protocol/schema.js";
import { askedAnnouncement } from "../api/announcement.js";
import type { MonitorErrorCode } from "../api/frames.js";
import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { TokenBucket } from "../rates.js";
import type { Device } from "../sessions/device.js";
import { type Outcome, refuse } from "../sockets/monitor-commands.js";
import { type Ask, entities, type Facts } from "./entities.js";

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

	/** @param isRetained it would be executed at each connection */
	async execute(deviceId: string, key: string, text: string, isRetained: boolean): Promise<void> {
		const { sessions, metrics, log } = this.#core;
		const device = sessions.devices.get(deviceId);
		// The gateway to which it is connected executes it.
		if (device?.session.link.isRemote) return;
		const refused = (code: MonitorErrorCode, problem: string) => {
			metrics.refusedCommands.inc({ code });
			log.warn({ deviceId, entity: key, code, problem }, "Home Assistant: command refused");
		};
		const { commandsASecond } = this.#core.limits;
		if (!this.#bucket.take()) return refused("rate_limited", `at most ${commandsASecond} a second`);
		if (isRetained) return refused("invalid_message", "it is retained; send it without retain");
		if (!device) return refused("unknown_target", "no device has this name");
		const entity = Object.hasOwn(entities, key) ? entities[key] : undefined;
		const facts = this.#factsOf(device);
		if (!entity?.command || entity.isOffered?.(facts) === false)
			return refused("unsupported_command", "the device has no such entity, or it takes no commands");
		// All at once: otherwise the next message's could come between them.
		const outcomes = entity.command(text, facts).map((ask) => this.#ask(device, ask));
		for (const outcome of await Promise.all(outcomes))
			if (outcome.refusal) refused(outcome.refusal.code, outcome.refusal.message);
			else {
				metrics.commands.inc({ type: outcome.command });
				// The broker does not say who has sent it.
				const person = { name: "Home Assistant", role: "monitor" } as const;
				this.#core.onChange({ person, remoteAddress: "MQTT", deviceId, what: key, body: text });
			}
	}

	async #ask(device: Device, ask: Ask): Promise<Outcome> {
		const { deviceId: targetId } = device;
		if ("refusal" in ask) return refuse("invalid_command", ask.refusal);
		if ("control" in ask)
			return this.#core.execute({ type: "control_device", targetId, payload: ask.control });
		if ("version" in ask) return this.#core.execute({ type: "trigger_ota", targetId, version: ask.version });
		return this.#play(device, ask);
	}

	async #play(
		{ deviceId, session }: Device,
		{ play, seconds }: Extract<Ask, { play: object }>,
	): Promise<Outcome> {
		const asked = { ...play, targets: { devices: [deviceId] } };
		const announcer = this.#core.announcer();
		if (!announcer) return refuse("unsupported_command", "this gateway keeps no sounds");
		if (!session.isReachable) return refuse("target_offline", "the device is not connected");
		if (!matches(askedAnnouncement, asked))
			return refuse("invalid_command", describeProblem(findProblem(askedAnnouncement, asked)));
		try {
			const id = await announcer.begin(asked);
			if (seconds !== undefined) setTimeout(() => this.#stop(deviceId, id), seconds * 1000).unref();
			return { command: "control_device" };
		} catch (error) {
			if (!(error instanceof HttpProblem)) throw error;
			return refuse("invalid_command", error.refusal.detail);
		}
	}

	#stop(targetId: string, id: string): void {
		const payload = { command: "stop_sound", value: { id } };
		void this.#core.execute({ type: "control_device", targetId, payload });
	}
}
