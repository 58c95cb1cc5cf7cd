/** One announcement: what each device has said of it, and which devices begin when. Without sockets, timers and clocks. */

import type { UplinkOf } from "../../device/protocol/messages.js";
import type { Play, PlayState, Announcement as Shown } from "../api/announcement.js";
import { isoTime } from "../sessions/view.js";

const lastStates: readonly PlayState[] = ["failed", "unsupported", "busy", "away", "stopped", "played"];
/** How long ready devices wait for the others. */
const waitMs = 3_000;
/** A device that says nothing for this long, after the sound's length, has failed. */
const silenceMs = 30_000;
/** Of a sound whose length is not known. */
const longestMs = 60 * 60_000;

export interface AnnouncementOptions {
	readonly id: string;
	readonly name: string | null;
	/** Undefined: not known. */
	readonly lengthMs: number | undefined;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	/** On the monotonic clock, in milliseconds. */
	readonly beganAt: number;
}

/** A time on both clocks, in milliseconds. */
export interface Moment {
	/** Since 1970. */
	readonly now: number;
	readonly monotonic: number;
}

interface Part {
	state: PlayState;
	reason: string | null;
	at: number;
	lateMs: number | null;
	heardMs: number | null;
	underruns: number;
	/** On the monotonic clock: the latest change. */
	changedAt: number;
	/** It was asked to begin. */
	isStarted: boolean;
}

const noCounts: Readonly<Record<PlayState, number>> = Object.freeze({
	failed: 0,
	unsupported: 0,
	busy: 0,
	away: 0,
	stopped: 0,
	waiting: 0,
	ready: 0,
	playing: 0,
	played: 0,
});

export class Announcement {
	readonly id: string;
	readonly #options: AnnouncementOptions;
	readonly #parts = new Map<string, Part>();
	readonly #counts: Record<PlayState, number> = { ...noCounts };
	/** Changed since the last frame. */
	readonly #changed = new Set<string>();
	/** On the monotonic clock; undefined: not yet. */
	#startedAt: number | undefined;
	#endedAt: number | null = null;

	constructor(options: AnnouncementOptions) {
		this.id = options.id;
		this.#options = options;
	}

	/** Ids of the devices that have not ended. */
	get running(): readonly string[] {
		return [...this.#parts.keys()].filter((deviceId) => this.isRunning(deviceId));
	}

	isRunning(deviceId: string): boolean {
		const state = this.stateOf(deviceId);
		return state !== undefined && !lastStates.includes(state);
	}

	/** Milliseconds since 1970; null: not all devices have ended. */
	get endedAt(): number | null {
		return this.#endedAt;
	}

	/** @returns undefined if it is none of its devices */
	stateOf(deviceId: string): PlayState | undefined {
		return this.#parts.get(deviceId)?.state;
	}

	/** Adds a device, or changes what it does. */
	set(deviceId: string, state: PlayState, moment: Moment, reason: string | null = null): void {
		const known = this.#parts.get(deviceId);
		if (known) this.#counts[known.state] -= 1;
		this.#counts[state] += 1;
		const part = known ?? { lateMs: null, heardMs: null, underruns: 0, isStarted: false };
		const change = { state, reason, at: moment.now, changedAt: moment.monotonic };
		this.#parts.set(deviceId, Object.assign(part, change));
		this.#changed.add(deviceId);
		const { waiting, ready, playing } = this.#counts;
		if (waiting + ready + playing > 0) this.#endedAt = null;
		else this.#endedAt ??= moment.now;
	}

	/** What a device says of this sound; it may come after the device seemed to have gone. */
	hear(deviceId: string, update: UplinkOf<"sound_update">, moment: Moment): void {
		const part = this.#parts.get(deviceId);
		if (!part) return;
		const { state, reason = null, underruns, heard_ms: heardMs } = update;
		if (underruns !== undefined) part.underruns = underruns;
		if (heardMs !== undefined) part.heardMs = heardMs;
		this.set(deviceId, state, moment, reason);
	}

	/** @returns ids of the devices that are to begin now: all that are ready once none is waited for, later each that is ready */
	starts(monotonic: number): readonly string[] {
		const { waiting, ready } = this.#counts;
		if (ready === 0 || (waiting > 0 && monotonic - this.#options.beganAt < waitMs)) return [];
		const starting = [...this.#parts].filter(([, { state, isStarted }]) => state === "ready" && !isStarted);
		this.#startedAt ??= monotonic;
		const lateMs = Math.round(monotonic - this.#startedAt);
		for (const [, part] of starting)
			Object.assign(part, { isStarted: true, lateMs: lateMs > 0 ? lateMs : null });
		return starting.map(([deviceId]) => deviceId);
	}

	/** Ends devices that say nothing any more. */
	expire(moment: Moment): void {
		const { lengthMs = longestMs } = this.#options;
		for (const [deviceId, { state, changedAt }] of this.#parts) {
			if (lastStates.includes(state)) continue;
			const spanMs = silenceMs + (state === "playing" ? lengthMs * 2 : 0);
			if (moment.monotonic - changedAt > spanMs)
				this.set(deviceId, "failed", moment, "The device has not said how it ended.");
		}
	}

	/** @returns the parts that have changed since the last call */
	takeChanges(): readonly Play[] {
		const changes = [...this.#changed].map((deviceId) => this.#describe(deviceId));
		this.#changed.clear();
		return changes;
	}

	describe(): Shown {
		const { id, name, createdAt } = this.#options;
		return {
			id,
			name,
			createdAt: isoTime(createdAt),
			endedAt: this.#endedAt === null ? null : isoTime(this.#endedAt),
			counts: this.counts(),
			devices: Array.from(this.#parts.keys(), (deviceId) => this.#describe(deviceId)),
		};
	}

	counts(): Readonly<Record<PlayState, number>> {
		return { ...this.#counts };
	}

	#describe(deviceId: string): Play {
		const {
			state = "away",
			reason = null,
			at = 0,
			lateMs = null,
			heardMs = null,
			underruns = 0,
		} = this.#parts.get(deviceId) ?? {};
		return { deviceId, state, reason, at: isoTime(at), lateMs, heardMs, underruns };
	}
}
