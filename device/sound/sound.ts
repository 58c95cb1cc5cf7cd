/**
 * One sound from the network: loads it into the ring buffer, plays it once a second of it is loaded and playback is
 * allowed, and enforces timeouts. Exactly one final state: played, stopped, failed or expired.
 */

import Timer from "timer";
import { messageOf } from "../message-of.js";
import type { HttpAccess } from "../network/http-connection.js";
import { parseHttpUrl } from "../network/http-url.js";
import { type Audio, codecFault } from "../peripherals/audio.js";
import { ChimeTrack } from "../peripherals/chimes.js";
import type { StopReason, Track, TrackEnd } from "../peripherals/track.js";
import { type CommandOf, priorities } from "../protocol/messages.js";
import type { SoundUpdate } from "./results.js";
import type { Ring } from "./ring.js";
import { bytesPerSecond, SoundStream } from "./sound-stream.js";

/** Timeout of start_sound. */
const startLimitMs = 10_000;
/** Timeout of loading a second of sound, and maximum by which gaps may outlast playback. */
const loadingLimitMs = 30_000;
/** Time after which a paused sound ends, which frees its connection. */
const pauseLimitMs = 600_000;
const checkIntervalMs = 1_000;
/** Silence between a chime and its sound, in which the volume changes: the output requests samples every 128 ms. */
const silenceBytes = 0.3 * bytesPerSecond;

export type SoundRequest = CommandOf<"play_sound">["value"];

/** Services of the device used by sounds. */
export interface SoundServices {
	readonly audio: Pick<
		Audio,
		"playTrack" | "stopTrack" | "checkOutput" | "baseVolume" | "audibleVolume" | "isUrgentOnly" | "report"
	>;
	readonly http: HttpAccess;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly send: (update: SoundUpdate) => void;
	/** Runs an action at the end of the turn, with an empty stack. */
	readonly afterTurn: (action: () => void) => void;
}

export interface SoundOptions extends SoundServices {
	readonly request: SoundRequest;
	readonly ring: Ring;
	readonly onEnd: (update: SoundUpdate) => void;
}

export class Sound implements Track {
	readonly id: string;
	readonly uri: string;
	/** Queue order: a lower rank is played first. */
	readonly rank: number;
	readonly #options: SoundOptions;
	readonly #ring: Ring;
	#stream: SoundStream | undefined;
	#checkTimer: Timer | undefined;
	#isAdvancePlanned = false;
	#state: "waiting" | "loading" | "ready" | "playing" | "over" = "waiting";
	/** Expires the sound if it does not begin in time. */
	#expiryTimer: Timer | undefined;
	#isSuspending = false;
	/** Chime before the sound. */
	#chime: ChimeTrack | undefined;
	/** Whether `playing` was reported. */
	#hasPlayed = false;
	/** Bytes heard before an interruption. */
	#heardBytes = 0;
	/** Whether playback may begin. */
	#isAllowed: boolean;
	/** Time of the last change of state or progress. */
	#sinceMs: number;
	#failure: string | undefined;
	#underruns = 0;
	#consumedAtCheck = 0;
	/** Duration of gaps minus that of playback, at least 0. */
	#lateMs = 0;

	constructor(options: SoundOptions) {
		const { request, ring, now } = options;
		this.#options = options;
		this.#ring = ring;
		this.id = request.id;
		this.uri = `file:///sounds/${request.id}`;
		this.rank = priorities.indexOf(request.priority ?? "normal");
		this.#isAllowed = request.ready !== true;
		this.#sinceMs = now();
		const { expires } = request;
		if (expires !== undefined)
			this.#expiryTimer = Timer.set(() => this.#finish({ state: "expired" }, 0), expires * 1000);
	}

	get isUrgent(): boolean {
		return this.#options.request.priority === "urgent";
	}

	/** On a muted device only an urgent sound is audible. */
	get volume(): number | undefined {
		const { request, audio } = this.#options;
		const { priority, chime_volume = request.volume } = request;
		const volume = this.#chime && !this.#chime.isHeard ? chime_volume : request.volume;
		if (priority === undefined || audio.baseVolume > 0) return volume;
		return this.isUrgent ? (volume ?? audio.audibleVolume) : undefined;
	}

	/** Starts loading, or resumes after suspend(). */
	load(): void {
		const { request, ring, http } = this.#options;
		this.#enter("loading");
		this.#checkTimer = Timer.repeat(() => this.#checkTimeouts(), checkIntervalMs);
		if (this.#stream) return this.#stream.resume();
		try {
			this.#stream = new SoundStream({
				http,
				url: parseHttpUrl(request.url, "sound"),
				ring,
				onProgress: () => this.#onProgress(),
				onFailed: (reason) => this.#fail(reason),
			});
		} catch (error) {
			this.#fail(messageOf(error));
		}
	}

	get #isPlaying(): boolean {
		return this.#state === "playing";
	}

	/** Allows playback as soon as the sound is ready. @returns false if it was allowed already */
	allow(): boolean {
		if (this.#isAllowed) return false;
		this.#isAllowed = true;
		this.#onProgress();
		return true;
	}

	stop(by: StopReason): void {
		if (this.#state === "playing") this.#options.audio.stopTrack(this, by);
		else this.onEnd(by, this.#heardBytes);
	}

	/** Releases the output and the ring until load(). */
	suspend(): void {
		this.#isSuspending = true;
		if (this.#state === "playing") this.#options.audio.stopTrack(this, "another sound");
		this.#isSuspending = false;
		this.#chime = undefined;
		this.#state = "waiting";
		Timer.clear(this.#checkTimer);
		this.#checkTimer = undefined;
		this.#stream?.suspend(this.#heardBytes);
	}

	get available(): number {
		return (this.#chime?.available ?? 0) + this.#ring.available;
	}

	get consumed(): number {
		return (this.#chime?.consumed ?? 0) + this.#ring.consumed;
	}

	get isWhole(): boolean {
		return this.#stream?.isWhole ?? false;
	}

	get isReady(): boolean {
		return this.isWhole || this.#ring.available >= bytesPerSecond;
	}

	consume(byteCount: number): Uint8Array {
		return this.#chime?.available ? this.#chime.consume(byteCount) : this.#ring.consume(byteCount);
	}

	release(position: number): void {
		this.#chime?.release(position);
		this.#ring.release(this.#afterChime(position));
		this.#stream?.pull();
	}

	rewind(position: number): void {
		this.#ring.rewind(this.#afterChime(position));
		this.#chime?.rewind(Math.min(position, this.#chime.consumed));
	}

	/** @param position including the chime, which is consumed first @returns position in the sound itself */
	#afterChime(position: number): number {
		return Math.max(0, position - (this.#chime?.consumed ?? 0));
	}

	onUnderrun(): void {
		this.#underruns += 1;
	}

	onEnd(end: TrackEnd, position: number): void {
		const heardBytes = this.#afterChime(position);
		if (this.#isSuspending) {
			this.#heardBytes = heardBytes;
			return;
		}
		const failure =
			end === "error" ? "The audio output failed." : end === "codec" ? codecFault : this.#failure;
		if (failure !== undefined) this.#finish({ state: "failed", reason: failure.slice(0, 500) }, heardBytes);
		else if (end === "played") this.#finish({ state: "played" }, heardBytes);
		else this.#finish({ state: "stopped", reason: end }, heardBytes);
	}

	#finish(end: Pick<SoundUpdate, "state" | "reason">, heardBytes: number): void {
		if (this.#state === "over") return;
		this.#state = "over";
		Timer.clear(this.#checkTimer);
		Timer.clear(this.#expiryTimer);
		this.#stream?.close();
		this.#options.onEnd({
			id: this.id,
			...end,
			underruns: this.#underruns,
			heard_ms: Math.floor((heardBytes * 1000) / bytesPerSecond),
		});
	}

	/** Advances at the end of the turn, since the stack is deep while a socket is read. */
	#onProgress(): void {
		if (this.#state === "playing" || !this.isReady || this.#isAdvancePlanned) return;
		this.#isAdvancePlanned = true;
		this.#options.afterTurn(() => {
			this.#isAdvancePlanned = false;
			this.#advance();
		});
	}

	#advance(): void {
		if (this.#state === "loading") {
			this.#enter("ready");
			if (this.#options.request.ready) this.#options.send({ id: this.id, state: "ready" });
		}
		if (this.#state !== "ready" || !this.#isAllowed || this.#awaitsChime) return;
		// Quiet hours may have begun since the command.
		if (this.#options.audio.isUrgentOnly && !this.isUrgent) return this.stop("quiet hours");
		this.#enter("playing");
		Timer.clear(this.#expiryTimer);
		this.#expiryTimer = undefined;
		const { chime } = this.#options.request;
		// A chime that was interrupted is repeated.
		if (chime && this.#heardBytes === 0) this.#chime = new ChimeTrack(chime, silenceBytes);
		this.#options.audio.playTrack(this, "another sound");
		// The sound has ended if the output failed.
		if (!this.#isPlaying) return;
		this.#options.send({ id: this.id, state: this.#hasPlayed ? "resumed" : "playing" });
		this.#hasPlayed = true;
	}

	/** Whether the sound waits for a chime of play_audio to end. */
	get #awaitsChime(): boolean {
		const { request, audio } = this.#options;
		return request.priority !== undefined && !this.isUrgent && audio.report.player_state === "playing";
	}

	#enter(state: "loading" | "ready" | "playing"): void {
		this.#state = state;
		this.#sinceMs = this.#options.now();
	}

	/** Enforces the timeouts. */
	#checkTimeouts(): void {
		if (this.#isPlaying) this.#options.audio.checkOutput();
		if (this.#state === "over") return;
		const now = this.#options.now();
		if (this.#state === "playing") {
			const isLate = this.consumed === this.#consumedAtCheck && !this.isReady;
			this.#lateMs = Math.max(0, this.#lateMs + (isLate ? checkIntervalMs : -checkIntervalMs));
			if (this.consumed !== this.#consumedAtCheck) this.#sinceMs = now;
			this.#consumedAtCheck = this.consumed;
		}
		if (this.#state === "ready") this.#advance();
		const waitedMs = now - this.#sinceMs;
		if (this.#state === "ready" && waitedMs >= startLimitMs)
			return this.#fail(`No start_sound was received within ${startLimitMs / 1000} s.`);
		if (this.#lateMs >= loadingLimitMs) return this.#fail("The sound arrives too slowly to be played.");
		if (this.#state === "loading" && waitedMs >= loadingLimitMs)
			return this.#fail(`Less than a second of the sound was loaded in ${loadingLimitMs / 1000} s.`);
		if (this.#state === "playing" && waitedMs >= pauseLimitMs) this.stop("button");
	}

	#fail(reason: string): void {
		this.#failure ??= reason;
		this.stop("command");
	}
}
