/** Sends a command to many devices, a few at a time, and reports the result of each. */

import type { SentCommand } from "../api/command.js";
import type { ConfirmableCommand } from "../api/commands.js";
import type { Targets } from "../api/targets.js";
import type { Core } from "../extension.js";
import { Jobs } from "../jobs/jobs.js";
import type { StartOptions } from "../services/jobs.js";
import type { MonitorMessage } from "../sockets/monitor-commands.js";
import { Command } from "./command.js";

type CommandsCore = Pick<
	Core,
	"sessions" | "monitors" | "execute" | "now" | "monotonic" | "log" | "yieldToLoop"
>;

export class Commands {
	readonly jobs: Jobs<SentCommand, Command>;
	readonly #core: CommandsCore;

	constructor(core: CommandsCore) {
		this.#core = core;
		this.jobs = new Jobs({
			core,
			channel: "commands",
			noun: "command",
			onEvent: (deviceId, event) => {
				for (const command of this.jobs.all()) {
					if (!command.followed.has(deviceId)) continue;
					command.applyEvent(deviceId, event, this.jobs.moment);
					this.#sendNext(command);
				}
			},
			onTick: (command) => {
				command.expire(this.jobs.moment);
				this.#sendNext(command);
			},
			onStop: (command) => {
				if (command.parts.endedAt === null) command.cancel(this.jobs.moment);
				else this.jobs.forget(command);
			},
			followedMs: 0,
		});
	}

	/**
	 * @returns its id
	 * @throws {RequestError} 409, 422
	 */
	async begin(
		targets: Targets,
		ask: ConfirmableCommand,
		{ by, onSent, ...given }: StartOptions,
	): Promise<string> {
		const { id, devices } = { ...this.jobs.plan(targets), ...given };
		const command = new Command({ id, ask, by: by ?? "", devices, moment: this.jobs.moment });
		this.jobs.add(command);
		this.#sendNext(command);
		onSent?.(null);
		return id;
	}

	#sendNext(command: Command): void {
		const ids = command.next(this.jobs.moment);
		if (ids.length === 0) return;
		this.jobs.follow();
		for (const deviceId of ids) void this.#begin(command, deviceId);
	}

	async #begin(command: Command, deviceId: string): Promise<void> {
		const rejection = await this.jobs.execute(monitorMessageOf(deviceId, command.ask));
		if (rejection) command.reject(deviceId, rejection, this.jobs.moment);
		// Otherwise all devices of an offline fleet would be processed in this turn.
		await this.#core.yieldToLoop();
		this.#sendNext(command);
	}
}

function monitorMessageOf(targetId: string, ask: ConfirmableCommand): MonitorMessage {
	if (ask.command === "boot_device") return { type: "boot_device", targetId };
	return { type: "control_device", targetId, payload: ask };
}
