/** One announcement: what each device has said of it, and which devices begin when. Without sockets, timers and clocks. */

import type { UplinkOf } from "../../device/protocol/messages.js";
import type { AskedAnnouncement, Play, PlayState, Announcement as Shown } from "../api/announcement.js";
import { frameText } from "../api/frames.js";
import type { Job } from "../jobs/jobs.js";
import { headOf, type Part, Parts } from "../jobs/parts.js";
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
	/** Of the sound, or the text. */
	readonly name: string | null;
	/** The name of the token by which it was begun. */
	readonly by: string | null;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	/** What plays it once more; null: its sound is gone. */
	readonly again: () => AskedAnnouncement | null;
}

/** A time on both clocks, in milliseconds. */
export interface Moment {
	/** Since 1970. */
	readonly now: number;
	readonly monotonic: number;
}

interface PlayPart extends Part<PlayState> {
	readonly lateMs: number | null;
	readonly heardMs: number | null;
	readonly underruns: number;
	/** On the monotonic clock: the latest change. */
	readonly changedAt: number;
	/** It was asked to begin. */
	readonly isStarted: boolean;
}

const noCounts: Readonly<Record<PlayState, number>> = Object.freeze({
	failed: 0,
	unsupported: 0,
	busy: 0,
	away: 0,
	stopped: 0,
	preparing: 0,
	waiting: 0,
	ready: 0,
	playing: 0,
	played: 0,
});

const nothingHeard = Object.freeze({ lateMs: null, heardMs: null, underruns: 0, isStarted: false });

export class Announcement implements Job<Shown> {
	readonly id: string;
	readonly #options: AnnouncementOptions;
	readonly #parts = new Parts<PlayState, PlayPart>(noCounts, lastStates);
	#lengthMs = longestMs;
	/** On the monotonic clock: devices are asked from then on. */
	#askedAt = 0;
	/** On the monotonic clock; undefined: not yet. */
	#startedAt: number | undefined;

	constructor(options: AnnouncementOptions) {
		this.id = options.id;
		this.#options = options;
	}

	/** Ids of the devices that have not ended. */
	get running(): readonly string[] {
		return this.#parts.running;
	}

	/** Whether it was asked to play, and has not ended. */
	isAsked(deviceId: string): boolean {
		return this.#parts.isRunning(deviceId) && this.stateOf(deviceId) !== "preparing";
	}

	/** Milliseconds since 1970; null: not all devices have ended. */
	get endedAt(): number | null {
		return this.#parts.endedAt;
	}

	/** @returns undefined if it is none of its devices */
	stateOf(deviceId: string): PlayState | undefined {
		return this.#parts.get(deviceId)?.state;
	}

	/** Its sound is there, and devices are asked to play it. @param lengthMs undefined: not known */
	ask(lengthMs: number | undefined, { monotonic }: Moment): void {
		this.#lengthMs = lengthMs ?? longestMs;
		this.#askedAt = monotonic;
	}

	/** Adds a device, or changes what it does. */
	set(deviceId: string, state: PlayState, moment: Moment, reason: string | null = null): void {
		this.#change(deviceId, { state, reason, at: moment.now, changedAt: moment.monotonic });
	}

	/** What a device says of this sound; it may come after the device seemed to have gone. */
	hear(deviceId: string, update: UplinkOf<"sound_update">, moment: Moment): void {
		if (!this.#parts.get(deviceId)) return;
		const { state, reason = null, underruns, heard_ms: heardMs } = update;
		const change = { state, reason, at: moment.now, changedAt: moment.monotonic };
		const heard = {
			...(underruns !== undefined && { underruns }),
			...(heardMs !== undefined && { heardMs }),
		};
		this.#change(deviceId, { ...change, ...heard });
	}

	/** @returns ids of the devices that are to begin now: all that are ready once none is waited for, later each that is ready */
	starts(monotonic: number): readonly string[] {
		const { waiting, ready } = this.#parts.counts();
		if (ready === 0 || (waiting > 0 && monotonic - this.#askedAt < waitMs)) return [];
		const starting = [...this.#parts.all()].filter(
			([, { state, isStarted }]) => state === "ready" && !isStarted,
		);
		this.#startedAt ??= monotonic;
		const lateMs = Math.round(monotonic - this.#startedAt);
		for (const [deviceId, part] of starting)
			this.#parts.set(deviceId, { ...part, isStarted: true, lateMs: lateMs > 0 ? lateMs : null });
		return starting.map(([deviceId]) => deviceId);
	}

	/** Ends devices that say nothing any more. */
	expire(moment: Moment): void {
		for (const deviceId of this.#parts.running) {
			if (!this.isAsked(deviceId)) continue;
			const { state, changedAt = 0 } = this.#parts.get(deviceId) ?? {};
			const spanMs = silenceMs + (state === "playing" ? this.#lengthMs * 2 : 0);
			if (moment.monotonic - changedAt > spanMs)
				this.set(deviceId, "failed", moment, "The device has not said how it ended.");
		}
	}

	/** @returns the parts that have changed since the last call */
	takeChanges(): readonly Play[] {
		return this.#parts.takeChanges().flatMap((deviceId) => this.#describe(deviceId));
	}

	describe(): Shown {
		const { id, name, by, createdAt, again } = this.#options;
		const { endedAt } = this;
		return {
			id,
			name,
			by,
			createdAt: isoTime(createdAt),
			endedAt: endedAt === null ? null : isoTime(endedAt),
			counts: this.counts(),
			again: again(),
			devices: Array.from(this.#parts.all(), ([deviceId]) => this.#describe(deviceId)).flat(),
		};
	}

	counts(): Readonly<Record<PlayState, number>> {
		return this.#parts.counts();
	}

	frame(): string {
		return this.#frameOf(this.describe().devices);
	}

	nextFrame(): string | undefined {
		const changes = this.takeChanges();
		return changes.length === 0 ? undefined : this.#frameOf(changes);
	}

	#frameOf(devices: readonly Play[]): string {
		const { id, name, by } = this.#options;
		return frameText<"announcement_update">({
			type: "announcement_update",
			id,
			name,
			by,
			isOver: this.endedAt !== null,
			counts: this.counts(),
			devices,
		});
	}

	#change(deviceId: string, change: Part<PlayState> & Partial<PlayPart> & Pick<PlayPart, "changedAt">): void {
		const known = this.#parts.get(deviceId) ?? nothingHeard;
		this.#parts.set(deviceId, { ...known, ...change });
	}

	#describe(deviceId: string): readonly Play[] {
		const part = this.#parts.get(deviceId);
		if (!part) return [];
		const { lateMs, heardMs, underruns } = part;
		return [{ ...headOf(deviceId, part), lateMs, heardMs, underruns }];
	}
}
