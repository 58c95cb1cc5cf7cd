/**
 * Plays sounds from the network, one at a time: loads a sound into the ring buffer, begins once a second of it is there,
 * and reports how it goes. Sounds with a priority wait for each other, and an urgent one interrupts another, which goes on
 * after it where it was. Each accepted sound has exactly one end: played, stopped, failed or expired.
 */

import Timer from "timer";
import { type Answer, busy, type Component, type Objection } from "../component.js";
import type { HttpClient, HttpClientOptions } from "../host.js";
import type { CancellableLookup } from "../network/http-connection.js";
import { parseHttpUrl } from "../network/http-url.js";
import type { Url } from "../network/url.js";
import { type Audio, codecFault } from "../peripherals/audio.js";
import { ChimeTrack } from "../peripherals/chimes.js";
import type { Stopper, Track, TrackEnd } from "../peripherals/track.js";
import { type Command, type CommandOf, priorities } from "../protocol/messages.js";
import type { Results, SoundUpdate } from "./results.js";
import { Ring } from "./ring.js";
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
/** More wait at the gateway; an urgent one is taken beside them. */
const mostWaiting = 2;

type SoundRequest = CommandOf<"play_sound">["value"];

export interface SoundsOptions {
	readonly audio: Pick<
		Audio,
		"playTrack" | "stopTrack" | "checkOutput" | "lastingVolume" | "audibleVolume" | "isUrgentOnly" | "report"
	>;
	readonly results: Results;
	/** Size of the ring buffer. */
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
	/** Is loaded or played. */
	#sound: Sound | undefined;
	/** The next one first. */
	readonly #waiting: Sound[] = [];
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
				if (this.#repeat(command.value.id)) return "executed";
				if (this.#options.isUpdating()) return busy("the device is being updated; try again after it");
				return this.#play(command.value);
			case "start_sound": {
				const { id } = command.value;
				if (this.#active.find((sound) => sound.id === id)?.allow() || this.#repeat(id)) return "executed";
				return invalid(`there is no sound ${id}; play it first`);
			}
			case "stop_sound":
				this.#stop("command", command.value?.id);
				return "executed";
			default:
				return undefined;
		}
	}

	/** A gateway that was restarted, or saw the device leave, learns what each sound does. */
	onConnected(): void {
		for (const { id } of this.#active) this.#repeat(id);
	}

	/** Frees the ring buffer until the next sound: an update needs the memory. */
	onUpdate(isRunning: boolean): void {
		if (!isRunning) return;
		this.#stopAll("update");
		this.#ring = undefined;
	}

	onRestart(): void {
		this.#stopAll("restart");
		this.flush();
	}

	/** Sends what waits for the end of the turn. */
	flush(): void {
		const isActive = this.#sound !== undefined;
		if (isActive !== this.#isActive) this.#options.onActive(isActive);
		this.#isActive = isActive;
		for (const update of this.#updates) {
			this.#options.send(update);
			this.#options.results.keep(update);
		}
		this.#updates.length = 0;
		const next = this.#sound ? undefined : this.#waiting.shift();
		if (next) this.#begin(next);
	}

	get #active(): readonly Sound[] {
		return this.#sound ? [this.#sound, ...this.#waiting] : this.#waiting;
	}

	/** Sends the latest update of a sound again, if there was one. @returns whether the sound is known */
	#repeat(id: string): boolean {
		const isUnsent = this.#updates.some((update) => update.id === id);
		const update = isUnsent ? undefined : this.#options.results.find(id);
		if (update) this.#report(update);
		return isUnsent || update !== undefined || this.#active.some((sound) => sound.id === id);
	}

	/** Accepts it; a sound_update follows. */
	#play(request: SoundRequest): Answer {
		if (this.#options.audio.isUrgentOnly && request.priority !== "urgent") {
			this.#report({ id: request.id, state: "stopped", reason: "quiet hours", underruns: 0, heard_ms: 0 });
			return "executed";
		}
		if (request.priority === undefined) this.#stopAll("another sound");
		else if (this.#sound && this.#waiting.length >= mostWaiting + Number(request.priority === "urgent"))
			return busy(`${this.#waiting.length} sounds wait already; try again after one of them`);
		this.#ring ??= new Ring(this.#options.bufferBytes);
		const sound = new Sound({
			...this.#options,
			request,
			ring: this.#ring,
			send: (update) => this.#report(update),
			onEnd: (update) => this.#onEnd(sound, update),
		});
		if (sound.isUrgent && this.#sound && !this.#sound.isUrgent) this.#interrupt(this.#sound);
		// Where one has just ended, the first of those that wait is next.
		if (this.#sound || (this.#waiting.length > 0 && !sound.isUrgent)) this.#wait(sound);
		else this.#begin(sound);
		return "executed";
	}

	#begin(sound: Sound): void {
		this.#sound = sound;
		this.#planFlush();
		sound.load();
	}

	/** One that a person has paused ends: it is not to go on by itself. */
	#interrupt(sound: Sound): void {
		if (this.#options.audio.report.player_state === "paused") return sound.stop("another sound");
		sound.suspend();
		this.#sound = undefined;
		this.#waiting.unshift(sound);
		this.#report({ id: sound.id, state: "waiting" });
	}

	/** Behind those of its priority. */
	#wait(sound: Sound): void {
		const behind = this.#waiting.findIndex(({ rank }) => rank > sound.rank);
		this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, sound);
		this.#report({ id: sound.id, state: "waiting" });
	}

	#onEnd(sound: Sound, update: SoundUpdate): void {
		if (this.#sound === sound) this.#sound = undefined;
		const at = this.#waiting.indexOf(sound);
		if (at >= 0) this.#waiting.splice(at, 1);
		this.#report(update);
	}

	/** @param id undefined: all, also those that wait */
	#stop(by: Stopper, id?: string): void {
		if (id === undefined) return this.#stopAll(by);
		if (this.#sound?.id === id) this.#sound.stop(by);
		else this.#waiting.find((sound) => sound.id === id)?.stop(by);
	}

	#stopAll(by: Stopper): void {
		// Each leaves the list.
		while (this.#waiting.length > 0) this.#waiting[0]?.stop(by);
		this.#sound?.stop(by);
	}

	#report(update: SoundUpdate): void {
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

function invalid(message: string): Objection {
	return { code: "invalid_value", message };
}
