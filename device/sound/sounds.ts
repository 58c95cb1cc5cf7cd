/**
 * Plays sounds from the network, one at a time: loads a sound into the ring buffer, begins once a second of it is there,
 * and reports how it goes. Each accepted sound has exactly one end: played, stopped or failed.
 */

import Timer from "timer";
import { type Answer, busy, type Component, type Objection } from "../component.js";
import type { HttpClient, HttpClientOptions } from "../host.js";
import type { CancellableLookup } from "../network/http-connection.js";
import { parseHttpUrl } from "../network/http-url.js";
import type { Url } from "../network/url.js";
import { type Audio, codecFault } from "../peripherals/audio.js";
import type { Stopper, Track, TrackEnd } from "../peripherals/track.js";
import type { Command, CommandOf, UplinkOf } from "../protocol/messages.js";
import { Ring } from "./ring.js";
import { bytesPerSecond, SoundStream } from "./sound-stream.js";

/** Limit of the wait for start_sound. */
const startLimitMs = 10_000;
/** Limit of the wait for a second of sound. */
const loadingLimitMs = 30_000;
/** After this time a paused sound ends, which frees its connection. */
const pauseLimitMs = 600_000;
const watchIntervalMs = 1_000;

export type SoundUpdate = Omit<UplinkOf<"sound_update">, "type" | "deviceId">;
type SoundRequest = CommandOf<"play_sound">["value"];

export interface SoundsOptions {
	readonly audio: Pick<Audio, "playTrack" | "stopTrack" | "checkOutput">;
	/** Of the ring buffer. */
	readonly bufferBytes: number;
	readonly connect: (url: Url, options: HttpClientOptions) => HttpClient;
	readonly createLookup: () => CancellableLookup;
	readonly headersFor: (url: Url) => Iterable<readonly [string, string]>;
	readonly isUpdating: () => boolean;
	/** Called at the end of turns where it changed. @param isActive whether a sound is loaded or played */
	readonly onActive: (isActive: boolean) => void;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly send: (update: SoundUpdate) => void;
	/** Calls at the end of the turn, with an empty stack. */
	readonly afterTurn: (action: () => void) => void;
}

export class Sounds implements Component {
	readonly #options: SoundsOptions;
	#ring: Ring | undefined;
	#sound: Sound | undefined;
	/** Not sent yet. */
	readonly #updates: SoundUpdate[] = [];
	#isFlushPlanned = false;
	/** As it was said. */
	#isActive = false;

	constructor(options: SoundsOptions) {
		this.#options = options;
	}

	execute(command: Command): Answer {
		switch (command.command) {
			case "play_sound":
				if (this.#options.isUpdating()) return busy("the device is being updated; try again after it");
				return this.#play(command.value);
			case "start_sound":
				if (this.#sound?.id !== command.value.id)
					return invalid(`there is no sound ${command.value.id}; play it first`);
				this.#sound.allow();
				return "executed";
			case "stop_sound":
				this.#stop("command", command.value?.id);
				return "executed";
			default:
				return undefined;
		}
	}

	/** Frees the ring buffer until the next sound: an update needs the memory. */
	onUpdate(isRunning: boolean): void {
		if (!isRunning) return;
		this.#stop("update");
		this.#ring = undefined;
	}

	onRestart(): void {
		this.#stop("restart");
		this.flush();
	}

	/** Says what waits for the end of the turn. */
	flush(): void {
		const isActive = this.#sound !== undefined;
		if (isActive !== this.#isActive) this.#options.onActive(isActive);
		this.#isActive = isActive;
		for (const update of this.#updates) this.#options.send(update);
		this.#updates.length = 0;
	}

	/** Begins to load it; a sound_update follows. */
	#play(request: SoundRequest): Answer {
		if (this.#sound?.id === request.id)
			return invalid(`the sound ${request.id} is already being played; give each sound an id of its own`);
		this.#stop("another sound");
		this.#ring ??= new Ring(this.#options.bufferBytes);
		const sound = new Sound({
			...this.#options,
			request,
			ring: this.#ring,
			send: (update) => this.#send(update),
			onEnd: (update) => {
				if (this.#sound === sound) this.#sound = undefined;
				this.#send(update);
			},
		});
		this.#sound = sound;
		this.#planFlush();
		sound.load();
		return "executed";
	}

	/** @param id undefined: whichever is played */
	#stop(by: Stopper, id?: string): void {
		if (id === undefined || this.#sound?.id === id) this.#sound?.stop(by);
	}

	#send(update: SoundUpdate): void {
		this.#updates.push(update);
		this.#planFlush();
	}

	/** At the end of the turn: the stack is deep where a command or a socket ends a sound. */
	#planFlush(): void {
		if (this.#isFlushPlanned) return;
		this.#isFlushPlanned = true;
		this.#options.afterTurn(() => {
			this.#isFlushPlanned = false;
			this.flush();
		});
	}
}

interface SoundOptions extends SoundsOptions {
	readonly request: SoundRequest;
	readonly ring: Ring;
	readonly onEnd: (update: SoundUpdate) => void;
}

class Sound implements Track {
	readonly id: string;
	readonly uri: string;
	readonly volume: number | undefined;
	readonly #options: SoundOptions;
	readonly #ring: Ring;
	#stream: SoundStream | undefined;
	#watchTimer: Timer | undefined;
	#isAdvancePlanned = false;
	#state: "loading" | "ready" | "playing" | "over" = "loading";
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
		this.volume = request.volume;
		this.#isAllowed = request.ready !== true;
		this.#sinceMs = now();
	}

	load(): void {
		const { request, ring, connect, createLookup, headersFor } = this.#options;
		try {
			const url = parseHttpUrl(request.url, "sound");
			this.#watchTimer = Timer.repeat(() => this.#watch(), watchIntervalMs);
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

	/** It begins as soon as it is ready. */
	allow(): void {
		this.#isAllowed = true;
		this.#onProgress();
	}

	stop(by: Stopper): void {
		if (this.#state === "playing") this.#options.audio.stopTrack(this, by);
		else this.onEnd(by, 0);
	}

	get available(): number {
		return this.#ring.available;
	}

	get taken(): number {
		return this.#ring.taken;
	}

	get isWhole(): boolean {
		return this.#stream?.isWhole ?? false;
	}

	get isReady(): boolean {
		return this.isWhole || this.#ring.available >= bytesPerSecond;
	}

	take(byteCount: number): Uint8Array {
		return this.#ring.take(byteCount);
	}

	release(position: number): void {
		this.#ring.release(position);
		this.#stream?.pull();
	}

	rewind(position: number): void {
		this.#ring.rewind(position);
	}

	onUnderrun(): void {
		this.#underruns += 1;
	}

	onEnd(end: TrackEnd, heardBytes: number): void {
		if (this.#state === "over") return;
		this.#state = "over";
		Timer.clear(this.#watchTimer);
		this.#stream?.close();
		const failure =
			end === "error" ? "The audio output failed." : end === "codec" ? codecFault : this.#failure;
		this.#options.onEnd({
			id: this.id,
			...(failure !== undefined
				? { state: "failed", reason: failure.slice(0, 500) }
				: end === "played"
					? { state: "played" }
					: { state: "stopped", reason: end }),
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
		if (this.#state !== "ready" || !this.#isAllowed) return;
		this.#enter("playing");
		this.#options.audio.playTrack(this, "another sound");
		// It has ended where the output fails.
		if (this.#isPlaying) this.#options.send({ id: this.id, state: "playing" });
	}

	#enter(state: "ready" | "playing"): void {
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

function invalid(message: string): Objection {
	return { code: "invalid_value", message };
}
