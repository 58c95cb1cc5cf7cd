/** One command to many devices: which are asked now, and what each has come to. Without sockets, timers and clocks. */

import { type StateReport, type UplinkOf, uplinks } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { sentence } from "../api/client/words.js";
import type { Ask, CommandPart, SentCommand } from "../api/command.js";
import {
	confirmationMs,
	endsConnection,
	goneBefore,
	isConfirmedBy,
	isForConnection,
	unconfirmed,
} from "../api/confirmation.js";
import { frameText } from "../api/frames.js";
import type { CommandState } from "../api/statuses.js";
import type { Job } from "../jobs/jobs.js";
import { headOf, type Part, Parts } from "../jobs/parts.js";
import { isoTime } from "../sessions/view.js";
import type { Refused } from "../sockets/monitor-commands.js";

/** A fleet that restarts all at once would load the network, and the gateway. */
export const askedAtOnce = 20;

const lastStates: readonly CommandState[] = ["failed", "unsupported", "away", "cancelled", "done"];
const noCounts: Readonly<Record<CommandState, number>> = Object.freeze({
	failed: 0,
	unsupported: 0,
	away: 0,
	cancelled: 0,
	asked: 0,
	waiting: 0,
	done: 0,
});

export interface CommandOptions {
	readonly id: string;
	readonly ask: Ask;
	/** The name of the token by which it was sent. */
	readonly by: string;
	/** Ids, each once. */
	readonly devices: readonly string[];
	/** Milliseconds since 1970. */
	readonly createdAt: number;
}

/** A time on both clocks, in milliseconds. */
export interface Moment {
	/** Since 1970. */
	readonly now: number;
	readonly monotonic: number;
}

interface AskedPart extends Part<CommandState> {
	/** On the monotonic clock; undefined: not yet. */
	readonly askedAt?: number | undefined;
}

export class Command implements Job<SentCommand> {
	readonly id: string;
	readonly ask: Ask;
	readonly #by: string;
	readonly #createdAt: number;
	readonly #parts = new Parts<CommandState, AskedPart>(noCounts, lastStates);
	readonly #waiting: Iterator<string>;
	readonly #asked = new Set<string>();

	constructor({ id, ask, by, devices, createdAt }: CommandOptions) {
		this.id = id;
		this.ask = ask;
		this.#by = by;
		this.#createdAt = createdAt;
		for (const deviceId of devices)
			this.#parts.set(deviceId, { state: "waiting", reason: null, at: createdAt });
		this.#waiting = devices.values();
	}

	get endedAt(): number | null {
		return this.#parts.endedAt;
	}

	/** Ids of the devices that have not answered yet. */
	get asked(): ReadonlySet<string> {
		return this.#asked;
	}

	/** @returns ids of the devices that are to be asked now, which count as asked from now on */
	next(moment: Moment): readonly string[] {
		const ids: string[] = [];
		while (this.#asked.size < askedAtOnce) {
			const { value, done } = this.#waiting.next();
			if (done) break;
			if (this.#parts.get(value)?.state !== "waiting") continue;
			this.#asked.add(value);
			this.#parts.set(value, {
				state: "asked",
				reason: null,
				at: moment.now,
				askedAt: moment.monotonic,
			});
			ids.push(value);
		}
		return ids;
	}

	/** The gateway could not send it. */
	refuse(deviceId: string, { code, message }: Refused["refusal"], moment: Moment): void {
		const isAway = code === "target_offline" || code === "unknown_target";
		const state = isAway ? "away" : code === "unsupported_command" ? "unsupported" : "failed";
		this.#end(deviceId, state, moment, isAway ? "The device is not connected." : sentence(message));
	}

	/** @param uplink of a device, checked */
	hear(deviceId: string, uplink: unknown, moment: Moment): void {
		const askedAt = this.#askedAt(deviceId);
		if (askedAt === undefined) return;
		if (isReport(uplink)) {
			const passedMs = moment.monotonic - askedAt;
			if (isConfirmedBy(this.ask, uplink, passedMs)) this.#end(deviceId, "done", moment);
		} else if (isRefusal(uplink) && uplink.command === this.ask.command)
			this.#end(
				deviceId,
				uplink.code === "unsupported" || uplink.code === "unknown_command" ? "unsupported" : "failed",
				moment,
				sentence(uplink.message),
			);
	}

	/** A device has a new connection. */
	onConnected(deviceId: string, moment: Moment): void {
		if (isForConnection(this.ask)) this.#end(deviceId, "done", moment);
	}

	/** A device has gone. */
	onGone(deviceId: string, moment: Moment): void {
		if (!endsConnection(this.ask)) this.#end(deviceId, "failed", moment, goneBefore);
	}

	/** Ends devices that have not confirmed it in time. */
	expire(moment: Moment): void {
		for (const deviceId of this.#asked)
			if (moment.monotonic - (this.#askedAt(deviceId) ?? 0) > confirmationMs(this.ask))
				this.#end(deviceId, "failed", moment, unconfirmed(this.ask));
	}

	/** Calls off what has not begun. */
	cancel(moment: Moment): void {
		for (const deviceId of this.#parts.running)
			if (!this.#asked.has(deviceId))
				this.#parts.set(deviceId, {
					state: "cancelled",
					reason: "It was called off before the device was asked.",
					at: moment.now,
				});
	}

	describe(): SentCommand {
		const { id, ask: payload, endedAt } = this;
		return {
			id,
			payload,
			by: this.#by,
			createdAt: isoTime(this.#createdAt),
			endedAt: endedAt === null ? null : isoTime(endedAt),
			counts: this.#parts.counts(),
			devices: Array.from(this.#parts.all(), ([deviceId, part]) => headOf(deviceId, part)),
		};
	}

	frame(): string {
		return this.#frameOf(this.describe().devices.filter(({ state }) => state !== "waiting"));
	}

	nextFrame(): string | undefined {
		const ids = this.#parts.takeChanges();
		if (ids.length === 0) return undefined;
		const parts = ids.flatMap((deviceId) => {
			const part = this.#parts.get(deviceId);
			return part && part.state !== "waiting" ? [headOf(deviceId, part)] : [];
		});
		return this.#frameOf(parts);
	}

	#frameOf(devices: readonly CommandPart[]): string {
		const { id, ask: payload, endedAt } = this;
		const createdAt = isoTime(this.#createdAt);
		const head = { id, payload, by: this.#by, createdAt, isOver: endedAt !== null };
		const counts = this.#parts.counts();
		return frameText<"command_update">({ type: "command_update", ...head, counts, devices });
	}

	#askedAt(deviceId: string): number | undefined {
		return this.#asked.has(deviceId) ? this.#parts.get(deviceId)?.askedAt : undefined;
	}

	/** No effect on a device that was not asked, or has ended. */
	#end(deviceId: string, state: CommandState, moment: Moment, reason: string | null = null): void {
		if (!this.#asked.delete(deviceId)) return;
		this.#parts.set(deviceId, { state, reason, at: moment.now });
	}
}

function isReport(uplink: unknown): uplink is StateReport {
	return matches(uplinks.state_report, uplink);
}

function isRefusal(uplink: unknown): uplink is UplinkOf<"command_error"> {
	return matches(uplinks.command_error, uplink);
}
