/**
 * One sound from the network: loads it into the ring buffer, plays it once a second of it is there and it may begin, and
 * bounds all waits. It has exactly one end: played, stopped, failed or expired.
 */

import Timer from "timer";
import type { HttpClient, HttpClientOptions } from "../host.js";
import type { CancellableLookup } from "../network/http-connection.js";
import { parseHttpUrl } from "../network/http-url.js";
import type { Url } from "../network/url.js";
import { type Audio, codecFault } from "../peripherals/audio.js";
import { ChimeTrack } from "../peripherals/chimes.js";
import type { Stopper, Track, TrackEnd } from "../peripherals/track.js";
import { type CommandOf, priorities } from "../protocol/messages.js";
import type { SoundUpdate } from "./results.js";
import type { Ring } from "./ring.js";
import { bytesPerSecond, SoundStream } from "./sound-stream.js";

/** Limit of the wait for start_sound. */
const startLimitMs = 10_000;
/** Limit of the wait for a second of sound. */
const loadingLimitMs = 30_000;
/** After this time a paused sound ends, which frees its connection. */
const pauseLimitMs = 600_000;
const watchIntervalMs = 1_000;
/** Between a chime and its sound; the volume changes in it, since the output asks for samples every 128 ms. */
const silenceBytes = 0.3 * bytesPerSecond;

export type SoundRequest = CommandOf<"play_sound">["value"];

/** What sounds need of the device. */
export interface SoundServices {
	readonly audio: Pick<
		Audio,
		"playTrack" | "stopTrack" | "checkOutput" | "lastingVolume" | "audibleVolume" | "isUrgentOnly" | "report"
	>;
	readonly connect: (url: Url, options: HttpClientOptions) => HttpClient;
	readonly createLookup: () => CancellableLookup;
	readonly headersFor: (url: Url) => Iterable<readonly [string, string]>;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly send: (update: SoundUpdate) => void;
	/** Calls at the end of the turn, with an empty stack. */
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
	/** Lower: before others. */
	readonly rank: number;
	readonly #options: SoundOptions;
	readonly #ring: Ring;
	#stream: SoundStream | undefined;
	#watchTimer: Timer | undefined;
	#isAdvancePlanned = false;
	#state: "waiting" | "loading" | "ready" | "playing" | "over" = "waiting";
	/** Until it plays. */
	#expiryTimer: Timer | undefined;
	#isSuspending = false;
	/** Is played before it. */
	#chime: ChimeTrack | undefined;
	/** Whether it was said that it plays. */
	#hasPlayed = false;
	/** Before it was interrupted. */
	#heardBytes = 0;
	/** Whether it may begin. */
	#isAllowed: boolean;
	/** When the state, or what it waits for, last changed. */
	#sinceMs: number;
	#failure: string | undefined;
	#underruns = 0;
	#takenAtWatch = 0;

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

	/** A muted device stays silent, but for an urgent sound. */
	get volume(): number | undefined {
		const { request, audio } = this.#options;
		const { priority, chime_volume = request.volume } = request;
		const volume = this.#chime && !this.#chime.isHeard ? chime_volume : request.volume;
		if (priority === undefined || audio.lastingVolume > 0) return volume;
		return this.isUrgent ? (volume ?? audio.audibleVolume) : undefined;
	}

	/** Begins, or goes on after suspend(). */
	load(): void {
		const { request, ring, connect, createLookup, headersFor } = this.#options;
		this.#enter("loading");
		this.#watchTimer = Timer.repeat(() => this.#watch(), watchIntervalMs);
		if (this.#stream) return this.#stream.resume();
		try {
			const url = parseHttpUrl(request.url, "sound");
			this.#stream = new SoundStream({
				connect: (options) => connect(url, options),
				createLookup,
				url,
				headers: headersFor(url),
				ring,
				onProgress: () => this.#onProgress(),
				onFailed: (reason) => this.#fail(reason),
			});
		} catch (error) {
			this.#fail(error instanceof Error ? error.message : String(error));
		}
	}

	get #isPlaying(): boolean {
		return this.#state === "playing";
	}

	/** Lets it begin as soon as it is ready. @returns false if it may already */
	allow(): boolean {
		if (this.#isAllowed) return false;
		this.#isAllowed = true;
		this.#onProgress();
		return true;
	}

	stop(by: Stopper): void {
		if (this.#state === "playing") this.#options.audio.stopTrack(this, by);
		else this.onEnd(by, this.#heardBytes);
	}

	/** Lets go of the output and the ring until load(). */
	suspend(): void {
		this.#isSuspending = true;
		if (this.#state === "playing") this.#options.audio.stopTrack(this, "another sound");
		this.#isSuspending = false;
		this.#chime = undefined;
		this.#state = "waiting";
		Timer.clear(this.#watchTimer);
		this.#watchTimer = undefined;
		this.#stream?.suspend(this.#heardBytes);
	}

	get available(): number {
		return (this.#chime?.available ?? 0) + this.#ring.available;
	}

	get taken(): number {
		return (this.#chime?.taken ?? 0) + this.#ring.taken;
	}

	get isWhole(): boolean {
		return this.#stream?.isWhole ?? false;
	}

	get isReady(): boolean {
		return this.isWhole || this.#ring.available >= bytesPerSecond;
	}

	take(byteCount: number): Uint8Array {
		return this.#chime?.available ? this.#chime.take(byteCount) : this.#ring.take(byteCount);
	}

	release(position: number): void {
		this.#chime?.release(position);
		this.#ring.release(this.#afterChime(position));
		this.#stream?.pull();
	}

	rewind(position: number): void {
		this.#ring.rewind(this.#afterChime(position));
		this.#chime?.rewind(Math.min(position, this.#chime.taken));
	}

	/** @param position that was taken @returns bytes of the sound itself, of which none is taken before all of the chime is */
	#afterChime(position: number): number {
		return Math.max(0, position - (this.#chime?.taken ?? 0));
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
		Timer.clear(this.#watchTimer);
		Timer.clear(this.#expiryTimer);
		this.#stream?.close();
		this.#options.onEnd({
			id: this.id,
			...end,
			underruns: this.#underruns,
			heard_ms: Math.floor((heardBytes * 1000) / bytesPerSecond),
		});
	}

	/** At the end of the turn: the stack is deep where a socket is read. */
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
		// They may have begun since it came.
		if (this.#options.audio.isUrgentOnly && !this.isUrgent) return this.stop("quiet hours");
		this.#enter("playing");
		Timer.clear(this.#expiryTimer);
		this.#expiryTimer = undefined;
		const { chime } = this.#options.request;
		// One that was interrupted is heard again.
		if (chime && this.#heardBytes === 0) this.#chime = new ChimeTrack(chime, silenceBytes);
		this.#options.audio.playTrack(this, "another sound");
		// It has ended where the output fails.
		if (!this.#isPlaying) return;
		this.#options.send({ id: this.id, state: this.#hasPlayed ? "resumed" : "playing" });
		this.#hasPlayed = true;
	}

	/** Whether it waits until a chime of play_audio has ended. */
	get #awaitsChime(): boolean {
		const { request, audio } = this.#options;
		return request.priority !== undefined && !this.isUrgent && audio.report.player_state === "playing";
	}

	#enter(state: "loading" | "ready" | "playing"): void {
		this.#state = state;
		this.#sinceMs = this.#options.now();
	}

	/** Bounds all waits. */
	#watch(): void {
		if (this.#isPlaying) this.#options.audio.checkOutput();
		if (this.#state === "over") return;
		const now = this.#options.now();
		if (this.#state === "playing" && this.taken !== this.#takenAtWatch) {
			this.#takenAtWatch = this.taken;
			this.#sinceMs = now;
		}
		if (this.#state === "ready") this.#advance();
		const waitedMs = now - this.#sinceMs;
		if (this.#state === "ready" && waitedMs >= startLimitMs)
			return this.#fail(`No start_sound came within ${startLimitMs / 1000} s.`);
		const isLoading = this.#state === "loading" || (this.#state === "playing" && !this.isReady);
		if (isLoading && waitedMs >= loadingLimitMs)
			return this.#fail(`Less than a second of the sound was loaded in ${loadingLimitMs / 1000} s.`);
		if (this.#state === "playing" && waitedMs >= pauseLimitMs) this.stop("button");
	}

	#fail(reason: string): void {
		this.#failure ??= reason;
		this.stop("command");
	}
}
