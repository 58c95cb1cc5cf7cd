/** An audio output that plays nothing, in the time that an ESP32 would take: blocks of 4,092 bytes, of which it has six. */

import Time from "time";
import Timer from "timer";
import type { AudioOutput, AudioOutputOptions } from "../../device/host.js";

const blockBytes = 4092;
const blocks = 6;
const bytesPerSample = 2;
/** Twice a block of 128 ms. */
const pollMs = 64;

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
		this.#timer = Timer.repeat(() => this.#poll(), pollMs);
	}

	stop(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#startedAt = undefined;
		this.#writtenBytes = 0;
		this.#playedBlocks = 0;
	}

	write(samples: Uint8Array): void {
		this.#advance();
		const fitting = this.#startedAt === undefined ? blocks - 1 : this.#playedBlocks + blocks;
		if (this.#writtenBytes + samples.byteLength > fitting * blockBytes) throw new Error("insufficient space");
		this.#writtenBytes += samples.byteLength;
	}

	close(): void {
		this.stop();
	}

	#poll(): void {
		const playedBlocks = this.#playedBlocks;
		this.#advance();
		if (this.#playedBlocks > playedBlocks) this.#onWritable();
	}

	#advance(): void {
		if (this.#startedAt === undefined) return;
		this.#playedBlocks = Math.floor(Time.delta(this.#startedAt) / this.#blockMs);
		// What was not written in time is silence.
		this.#writtenBytes = Math.max(this.#writtenBytes, this.#playedBlocks * blockBytes);
	}
}
