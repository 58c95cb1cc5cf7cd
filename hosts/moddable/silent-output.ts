/**
 * Silent replacement for Moddable's `embedded:io/audio/out` with the behavior of the ESP32 version: five of six blocks can be written
 * before `start`; blocks play in real time, silence if none is queued, each followed by a callback; `stop` discards queued blocks.
 */

import Time from "time";
import Timer from "timer";
import type { AudioOutput, AudioOutputOptions } from "../../device/host.js";

const blockBytes = 4092;
const blocks = 6;
/** Signed 16-bit mono. */
const bytesPerSample = 2;

export class SilentOutput implements AudioOutput {
	readonly #onWritable: () => void;
	readonly #blockMs: number;
	#startedAt: number | undefined;
	#writtenBytes = 0;
	#playedBlocks = 0;
	#timer: Timer | undefined;

	constructor(options: AudioOutputOptions) {
		this.#onWritable = options.onWritable;
		this.#blockMs = (blockBytes * 1000) / (options.sampleRate * bytesPerSample);
	}

	start(): void {
		if (this.#startedAt !== undefined) return;
		this.#startedAt = Time.ticks;
		this.#awaitBlock();
	}

	stop(): void {
		const elapsed = this.#elapsedBlocks;
		for (; this.#playedBlocks + 1 <= elapsed; this.#playedBlocks++) this.played(blockBytes);
		const samples = Math.floor(Math.max(0, elapsed - this.#playedBlocks) * (blockBytes / bytesPerSample));
		this.played(samples * bytesPerSample);
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#startedAt = undefined;
		this.#writtenBytes = 0;
		this.#playedBlocks = 0;
	}

	write(samples: Uint8Array): void {
		// Uses the clock, because timers are late on a busy computer.
		const played = Math.max(this.#playedBlocks, Math.floor(this.#elapsedBlocks));
		const fitting = this.#startedAt === undefined ? blocks - 1 : played + blocks;
		if (this.#writtenBytes + samples.byteLength > fitting * blockBytes) throw new Error("insufficient space");
		if (samples.byteLength & 1) throw new Error("full samples only");
		this.#writtenBytes += samples.byteLength;
	}

	close(): void {
		this.stop();
	}

	/** Called after the given number of bytes, written samples or silence, have been played. */
	protected played(_byteCount: number): void {}

	get #elapsedBlocks(): number {
		return this.#startedAt === undefined ? 0 : Time.delta(this.#startedAt) / this.#blockMs;
	}

	#awaitBlock(): void {
		const dueMs = (this.#playedBlocks + 1 - this.#elapsedBlocks) * this.#blockMs;
		this.#timer = Timer.set(() => this.#onBlock(), Math.max(0, Math.ceil(dueMs)));
	}

	#onBlock(): void {
		this.#playedBlocks += 1;
		// Counts a block that was not written in time as silence.
		this.#writtenBytes = Math.max(this.#writtenBytes, this.#playedBlocks * blockBytes);
		this.played(blockBytes);
		this.#awaitBlock();
		this.#onWritable();
	}
}
