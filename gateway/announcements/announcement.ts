/** State of one announcement: the status of each device and which devices start when. No sockets, timers or clocks. */

import { type CommandOf, type Feature, priorities, type UplinkOf } from "../../device/protocol/messages.js";
import {
	type AnnouncementRequest,
	type Play,
	type PlayState,
	playStates,
	type Announcement as Shown,
} from "../api/announcement.js";
import { frameText } from "../api/frames.js";
import type { Head, Job } from "../jobs/jobs.js";
import { type Moment, Parts } from "../jobs/parts.js";
import { isoTime } from "../sessions/view.js";

/** Time that ready devices wait for the others. */
const waitMs = 3_000;
/** A device that sends no status for this long, after the sound's length, has failed. */
const silenceMs = 30_000;
/** Assumed length of a sound of unknown length. */
const longestMs = 60 * 60_000;
const usualExpirySeconds = 300;

export interface AnnouncementOptions {
	readonly id: string;
	/** Name of the sound, or the text. */
	readonly name: string | null;
	/** Name of the token that started it. */
	readonly by: string | null;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	/** Returns the request that plays it again; null if its sound is gone. */
	readonly again: () => AnnouncementRequest | null;
	readonly request: Pick<
		AnnouncementRequest,
		"priority" | "expires" | "volume" | "together" | "chime" | "chimeVolume"
	>;
}

/** Value of `play_sound`. */
export type PlayRequest = CommandOf<"play_sound">["value"];

export class Announcement implements Job<Shown> {
	readonly id: string;
	readonly parts = new Parts<PlayState, Pick<Play, "lateMs" | "heardMs" | "underruns">>({
		states: playStates,
		lastStates: ["failed", "unsupported", "busy", "away", "expired", "stopped", "played"],
		first: { lateMs: null, heardMs: null, underruns: 0 },
	});
	readonly #head: Pick<Shown, "id" | "name" | "by" | "createdAt">;
	readonly #again: AnnouncementOptions["again"];
	readonly #request: AnnouncementOptions["request"];
	/** Devices that received it, whether their firmware has a queue, and the monotonic time of sending. */
	readonly #sent = new Map<string, { readonly hasQueue: boolean; readonly at: number }>();
	/** Ids of devices that received `start_sound`. */
	readonly #started = new Set<string>();
	#url = "";
	#lengthMs = longestMs;
	/** Monotonic time at which devices were first requested to play. */
	#requestedAt = 0;
	/** Monotonic time at which the first device was ready. */
	#readyAt: number | undefined;
	/** Monotonic time of the start. */
	#startedAt: number | undefined;

	constructor({ id, name, by, createdAt, again, request }: AnnouncementOptions) {
		this.id = id;
		this.#request = request;
		this.#head = { id, name, by, createdAt: isoTime(createdAt) };
		this.#again = again;
	}

	/** All devices, as a disconnected one may report its result later. */
	get followed(): Iterable<string> {
		return this.parts.ids;
	}

	/** Whether a device was requested to play it and has not ended. */
	isRequested(deviceId: string): boolean {
		return this.parts.isRunning(deviceId) && this.parts.stateOf(deviceId) !== "preparing";
	}

	/** Priority; lower comes first. */
	get rank(): number {
		return priorities.indexOf(this.#request.priority ?? "normal");
	}

	get isUrgent(): boolean {
		return this.#request.priority === "urgent";
	}

	/**
	 * Marks the sound as available and devices as requested.
	 * @param lengthMs undefined: unknown
	 */
	request(url: string, lengthMs: number | undefined, { monotonic }: Moment): void {
		this.#url = url;
		this.#lengthMs = lengthMs ?? longestMs;
		this.#requestedAt = monotonic;
	}

	isSent(deviceId: string): boolean {
		return this.#sent.has(deviceId);
	}

	/** Monotonic time at which it was sent to a device, in milliseconds; before all times if it was not. */
	sentAt(deviceId: string): number {
		return this.#sent.get(deviceId)?.at ?? Number.NEGATIVE_INFINITY;
	}

	/**
	 * Marks a device as sent.
	 * @param features of the device
	 * @returns its play request
	 */
	send(deviceId: string, features: readonly Feature[], { monotonic }: Moment): PlayRequest {
		const hasQueue = features.includes("queue");
		this.#sent.set(deviceId, { hasQueue, at: monotonic });
		const { volume, priority = "normal", together = [...this.parts.ids].length > 1 } = this.#request;
		const { chime, chimeVolume: chime_volume } = this.#request;
		const isChimed = chime !== undefined && features.includes("chime");
		const expires = Math.max(1, Math.ceil((this.#expiresAt - monotonic) / 1000));
		return {
			id: this.id,
			url: this.#url,
			...(volume !== undefined && { volume }),
			...(together && { ready: true }),
			...(hasQueue && { priority, expires }),
			...(isChimed && { chime, ...(chime_volume !== undefined && { chime_volume }) }),
		};
	}

	/** Requeues a device that had no room for the sound. */
	requeue(deviceId: string): void {
		this.#sent.delete(deviceId);
	}

	/** Whether it was sent to a device that is now disconnected. */
	get mayStillPlay(): boolean {
		return [...this.#sent.keys()].some((deviceId) => this.parts.stateOf(deviceId) === "away");
	}

	/** Monotonic expiry time. */
	get #expiresAt(): number {
		return this.#requestedAt + (this.#request.expires ?? usualExpirySeconds) * 1000;
	}

	/** Handles a device's update of this sound, which may arrive after the device was considered gone. */
	onUpdate(deviceId: string, update: UplinkOf<"sound_update">, moment: Moment): void {
		if (this.parts.stateOf(deviceId) === undefined) return;
		const { state, reason = null, underruns, heard_ms: heardMs } = update;
		// Repeated after a reconnect if `start_sound` was lost.
		if (state === "ready") this.#started.delete(deviceId);
		const heard = {
			...(underruns !== undefined && { underruns }),
			...(heardMs !== undefined && { heardMs }),
		};
		this.parts.set(deviceId, state, moment, reason, heard);
	}

	/** @returns ids of devices to start now: all ready ones once none is waited for, later each one when ready */
	starts(monotonic: number): readonly string[] {
		const { waiting, ready } = this.parts.counts;
		if (ready === 0) return [];
		this.#readyAt ??= monotonic;
		if (waiting > 0 && monotonic - this.#readyAt < waitMs) return [];
		const isStarting = (id: string) => this.parts.stateOf(id) === "ready" && !this.#started.has(id);
		const starting = [...this.parts.ids].filter(isStarting);
		this.#startedAt ??= monotonic;
		const lateMs = Math.round(monotonic - this.#startedAt);
		for (const deviceId of starting) {
			this.#started.add(deviceId);
			this.parts.note(deviceId, { lateMs: lateMs > 0 ? lateMs : null });
		}
		return starting;
	}

	/**
	 * Fails devices that no longer send updates or could not start in time.
	 * @returns their ids
	 */
	expire(moment: Moment): readonly string[] {
		const requested = [...this.parts.running].filter((deviceId) => this.isRequested(deviceId));
		return requested.filter((deviceId) => {
			const isExpired = !this.isSent(deviceId) && moment.monotonic > this.#expiresAt;
			if (isExpired) this.parts.set(deviceId, "expired", moment);
			else if (this.isSent(deviceId) && this.parts.ageOf(deviceId, moment) > this.#silenceMs(deviceId))
				this.parts.set(deviceId, "failed", moment, "No result received from the device.");
			else return false;
			return true;
		});
	}

	/** Maximum time without an update from a device. */
	#silenceMs(deviceId: string): number {
		const state = this.parts.stateOf(deviceId);
		if (state === "playing" || state === "resumed") return silenceMs + this.#lengthMs * 2;
		const isWaiting = state === "waiting" && this.#sent.get(deviceId)?.hasQueue;
		return silenceMs + (isWaiting ? this.#expiresAt - this.#requestedAt : 0);
	}

	head(): Head<Shown> {
		return { ...this.#head, ...this.parts.head(), again: this.#again() };
	}

	frameOf(devices: readonly Play[]): string {
		const fields = { ...this.#head, ...this.parts.progress(devices) };
		return frameText<"announcement_update">({ type: "announcement_update", ...fields });
	}
}
