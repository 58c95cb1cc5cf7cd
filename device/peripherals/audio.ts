/**
 * Plays the chimes and controls the volume, by the codec's gain.
 *
 * A chime is queued whole before the output starts, padded with silence to five blocks, so that no old block is
 * repeated. The end is timed, since the SDK reports samples as played when they are queued.
 */

import Timer from "timer";
import type { AudioOutput, Codec, Host } from "../host.js";
import type { Chime, PlayerState, StateReport } from "../protocol/messages.js";
import { chimeSampleRate, chimeUri, loadChime } from "./chimes.js";

/** modules/io/audioout/esp32/audioout-esp32.c: I2S_DMA_BUFFER_MAX_SIZE, and dma_desc_num less one. */
const blockBytes = 4092;
const queuedBlocks = 5;
/** The longest chime: 639 ms. */
const longestChimeBytes = blockBytes * queuedBlocks;
const bytesPerMs = (chimeSampleRate * 2) / 1000;
/** The codec's ramp (host.ts). */
const rampMs = 40;

export interface AudioOptions {
	readonly output: Host["peripheral"]["audioOutput"];
	readonly codec: Host["peripheral"]["codec"];
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** 0 to 100. */
	readonly volume: number;
	/** 1 to 100: the volume after unmuting. */
	readonly audibleVolume: number;
	/** Volume, player state or track changed. */
	readonly onChanged: () => void;
}

export class Audio {
	readonly #output: AudioOutput;
	readonly #codec: Codec;
	readonly #now: () => number;
	readonly #onChanged: () => void;
	readonly #silence = new Uint8Array(1024);

	#volume: number;
	/** The last volume that was not 0. */
	#audibleVolume: number;
	/** Whether it was muted, not stepped down to 0. */
	#isMuted: boolean;

	#state: PlayerState = "idle";
	#chime: Chime | undefined;
	/** Where in the chime the output started. */
	#startedAtByte = 0;
	#startedAtMs = 0;
	#endTimer: Timer | undefined;
	#stopTimer: Timer | undefined;

	constructor(options: AudioOptions) {
		this.#codec = new options.codec({});
		this.#codec.isMuted = true;
		this.#output = new options.output({
			sampleRate: chimeSampleRate,
			channels: 1,
			bitsPerSample: 16,
		});
		this.#now = options.now;
		this.#onChanged = options.onChanged;
		this.#volume = options.volume;
		this.#audibleVolume = options.volume || options.audibleVolume;
		this.#isMuted = options.volume === 0;
		this.#codec.volume = options.volume;
	}

	get report(): StateReport["peripherals"]["audio"] {
		return {
			volume: this.#volume,
			player_state: this.#state,
			current_track: this.#chime ? chimeUri(this.#chime) : "none",
		};
	}

	get isReady(): boolean {
		return this.#codec.isReady;
	}

	/** Whether a chime plays or is paused. */
	get isActive(): boolean {
		return this.#state === "playing" || this.#state === "paused";
	}

	/** 0 (mute) to 100 (max). */
	get volume(): number {
		return this.#volume;
	}

	set volume(volume: number) {
		this.#isMuted = volume === 0;
		this.#setVolume(volume);
	}

	/** 1 to 100: the last volume that was not 0. */
	get audibleVolume(): number {
		return this.#audibleVolume;
	}

	/** Switches between 0 and the last audible volume. */
	toggleMute(): void {
		this.volume = this.#volume === 0 ? this.#audibleVolume : 0;
	}

	/**
	 * From mute (by button or set_volume 0) a step starts at the last audible volume; from a volume stepped down to 0,
	 * at 0.
	 */
	changeVolume(by: number): void {
		const from = this.#isMuted ? this.#audibleVolume : this.#volume;
		this.#isMuted = false;
		this.#setVolume(Math.max(0, Math.min(100, from + by)));
	}

	play(chime: Chime): void {
		this.#silenceNow();
		this.#chime = chime;
		this.#begin(0);
	}

	pause(): void {
		if (this.#state !== "playing") return;
		this.#startedAtByte = this.#heardBytes();
		this.#fadeOut();
		this.#setState("paused");
	}

	resume(): void {
		if (this.#state !== "paused") return;
		this.#silenceNow();
		this.#begin(this.#startedAtByte);
	}

	/** Stops for an update, and checks the codec for the confirmation of the new image (update/probation.ts). */
	stop(): void {
		this.#codec.check();
		if (!this.isActive) return;
		this.#fadeOut();
		this.#chime = undefined;
		this.#setState("stopped");
	}

	toggle(): void {
		if (this.#state === "playing") this.pause();
		else if (this.#state === "paused") this.resume();
		else this.play("startup");
	}

	#setVolume(volume: number): void {
		if (this.#volume === volume) return;
		this.#volume = volume;
		if (volume > 0) this.#audibleVolume = volume;
		this.#codec.volume = volume;
		this.#onChanged();
	}

	#begin(fromByte: number): void {
		if (!this.#chime) return;
		let byteCount = 0;
		try {
			byteCount = this.#queue(loadChime(this.#chime), fromByte);
			this.#output.start();
		} catch (error) {
			trace(`audio: ${error}\n`);
			return this.#onHeard();
		}
		this.#codec.isMuted = false;
		this.#startedAtByte = fromByte;
		this.#startedAtMs = this.#now();
		this.#endTimer = Timer.set(() => this.#onHeard(), Math.ceil(byteCount / bytesPerMs));
		this.#setState("playing");
	}

	/** @returns how many bytes of the chime fit */
	#queue(samples: Uint8Array, fromByte: number): number {
		const rest = samples.subarray(fromByte, longestChimeBytes);
		if (rest.byteLength > 0) this.#output.write(rest);
		let padding = longestChimeBytes - rest.byteLength;
		while (padding > 0) {
			const byteCount = Math.min(padding, this.#silence.byteLength);
			this.#output.write(this.#silence.subarray(0, byteCount));
			padding -= byteCount;
		}
		return rest.byteLength;
	}

	#onHeard(): void {
		this.#fadeOut();
		this.#chime = undefined;
		this.#setState("idle");
	}

	/** In whole samples of 2 bytes. */
	#heardBytes(): number {
		const samples = Math.floor(((this.#now() - this.#startedAtMs) * bytesPerMs) / 2);
		return this.#startedAtByte + samples * 2;
	}

	#fadeOut(): void {
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
		this.#codec.isMuted = true;
		this.#stopTimer ??= Timer.set(() => this.#silenceNow(), rampMs);
	}

	#silenceNow(): void {
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
		Timer.clear(this.#stopTimer);
		this.#stopTimer = undefined;
		this.#codec.isMuted = true;
		this.#output.stop();
	}

	#setState(state: PlayerState): void {
		this.#state = state;
		this.#onChanged();
	}
}
