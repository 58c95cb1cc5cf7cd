/** State of one command to many devices: which to send next, and the result of each. No sockets, timers or clocks. */

import { sentence } from "../api/client/words.js";
import type { CommandPart, SentCommand } from "../api/command.js";
import type { ConfirmableCommand } from "../api/commands.js";
import { confirmationMs, type DeviceEvent, endOf, unconfirmedReason } from "../api/confirmation.js";
import { frameText } from "../api/frames.js";
import { type CommandState, commandStates } from "../api/statuses.js";
import type { Head, Job } from "../jobs/jobs.js";
import { type Moment, Parts } from "../jobs/parts.js";
import { isoTime } from "../sessions/view.js";
import type { Rejected } from "../sockets/monitor-commands.js";

/** Limit of concurrent devices, as a simultaneous restart of a fleet would overload network and gateway. */
export const concurrency = 20;

export interface CommandOptions {
	readonly id: string;
	readonly ask: ConfirmableCommand;
	/** Name of the token that sent it. */
	readonly by: string;
	/** Unique device ids. */
	readonly devices: readonly string[];
	readonly moment: Moment;
}

export class Command implements Job<SentCommand> {
	readonly id: string;
	readonly ask: ConfirmableCommand;
	readonly parts = new Parts<CommandState>({
		states: commandStates,
		lastStates: ["failed", "unsupported", "away", "cancelled", "done"],
		first: {},
	});
	readonly #head: Pick<SentCommand, "id" | "payload" | "by" | "createdAt">;
	readonly #waiting: Iterator<string>;
	readonly #pending = new Set<string>();

	constructor({ id, ask, by, devices, moment }: CommandOptions) {
		this.id = id;
		this.ask = ask;
		this.#head = { id, payload: ask, by, createdAt: isoTime(moment.now) };
		for (const deviceId of devices) this.parts.set(deviceId, "waiting", moment);
		this.#waiting = devices.values();
	}

	/** Ids of devices without a result. */
	get followed(): ReadonlySet<string> {
		return this.#pending;
	}

	/** Returns ids of the devices to send the command to now, and marks them as sent. */
	next(moment: Moment): readonly string[] {
		const ids: string[] = [];
		while (this.#pending.size < concurrency) {
			const { value, done } = this.#waiting.next();
			if (done) break;
			if (this.parts.stateOf(value) !== "waiting") continue;
			this.#pending.add(value);
			this.parts.set(value, "asked", moment);
			ids.push(value);
		}
		return ids;
	}

	/** Ends a device to which the gateway could not send the command. */
	reject(deviceId: string, { code, message }: Rejected["rejection"], moment: Moment): void {
		const isAway = code === "target_offline" || code === "unknown_target";
		const state = isAway ? "away" : code === "unsupported_command" ? "unsupported" : "failed";
		this.#end(deviceId, state, moment, isAway ? "The device is offline." : message);
	}

	/** Ends a device if an event confirms or fails the command. */
	applyEvent(deviceId: string, event: DeviceEvent, moment: Moment): void {
		const end = endOf(this.ask, event, this.parts.ageOf(deviceId, moment));
		if (end) this.#end(deviceId, end.state, moment, end.reason);
	}

	/** Ends devices that did not confirm in time. */
	expire(moment: Moment): void {
		for (const deviceId of this.#pending)
			if (this.parts.ageOf(deviceId, moment) > confirmationMs(this.ask))
				this.#end(deviceId, "failed", moment, unconfirmedReason(this.ask));
	}

	/** Cancels the command for devices that have not received it. */
	cancel(moment: Moment): void {
		const reason = "Canceled before it was sent to the device.";
		for (const deviceId of this.parts.running)
			if (!this.#pending.has(deviceId)) this.parts.set(deviceId, "cancelled", moment, reason);
	}

	head(): Head<SentCommand> {
		return { ...this.#head, ...this.parts.head() };
	}

	frameOf(devices: readonly CommandPart[]): string {
		const begun = devices.filter(({ state }) => state !== "waiting");
		const fields = { ...this.#head, ...this.parts.progress(begun) };
		return frameText<"command_update">({ type: "command_update", ...fields });
	}

	/** Ignores a device that has not received it or has ended. */
	#end(deviceId: string, state: CommandState, moment: Moment, reason: string | null): void {
		if (this.#pending.delete(deviceId)) this.parts.set(deviceId, state, moment, reason && sentence(reason));
	}
}
