/**
 * Streams a track to the audio output.
 *
 * The output has six blocks, of which five are filled before it starts. From then on every free block is filled, with
 * silence if there are no samples, so that no old block is repeated. The clock determines which blocks are free and what
 * was heard: the SDK counts samples as played when they are queued, and resets the count at the start.
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { AudioOutput, Host } from "../host.js";
import { sampleRate, type Track } from "./track.js";

/** I2S_DMA_BUFFER_MAX_SIZE and dma_desc_num of the SDK's modules/io/audioout/esp32/audioout-esp32.c. */
const blockBytes = 4092;
const blocks = 6;
const blocksBeforeStart = 5;
const bytesPerMs = (sampleRate * 2) / 1000;
/** Length of the fades around a gap; at full scale a step of 102 a sample. */
const fadeBytes = 20 * bytesPerMs;
/** Queued bytes below which late samples are replaced by silence. A block lasts 128 ms. */
const lowBytes = 2 * blockBytes;
/** Silence after which the output counts as failed; longer than any turn, which the watchdog limits. */
const stalledOutputBytes = 10_000 * bytesPerMs;

export interface TrackOutputOptions {
	readonly output: Host["peripheral"]["audioOutput"];
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Called when blocks have been played, before they are filled again. */
	readonly onHeard: () => void;
	/** Called when the last sample was played, or the output has failed. */
	readonly onEnd: (end: "played" | "error") => void;
}

export class TrackOutput {
	readonly #openOutput: () => AudioOutput;
	/** Undefined: opening failed; retried for each track. */
	#output: AudioOutput | undefined;
	readonly #now: () => number;
	readonly #onHeard: () => void;
	readonly #onEnd: (end: "played" | "error") => void;
	readonly #silence = new Uint8Array(1024);
	/** Scratch buffer of samples being faded. */
	readonly #fading = new Int16Array(fadeBytes / 2);

	/** Track being played. */
	#track: Track | undefined;
	#endTimer: Timer | undefined;
	/** Consecutive writes rejected by the output. */
	#rejections = 0;
	/** Start time of the output; undefined: stopped. */
	#startedAtMs: number | undefined;
	/** Bytes written since the start. */
	#writtenBytes = 0;
	/** Output position of the current run of samples, which began at the start or after the last gap. */
	#runAtByte = 0;
	/** Track position of the current run. */
	#runFromByte = 0;
	/** Whether the track has samples left to write. */
	#isStreaming = false;
	/** Whether samples were late and are awaited. */
	#isStarved = false;
	/** Output position of the track's end, once its last sample is written. */
	#endAtByte: number | undefined;

	constructor({ output, now, onHeard, onEnd }: TrackOutputOptions) {
		this.#openOutput = () =>
			new output({
				sampleRate,
				channels: 1,
				bitsPerSample: 16,
				onWritable: () => this.#fill(),
			});
		this.#now = now;
		this.#onHeard = onHeard;
		this.#onEnd = onEnd;
		attempt("audio", () => {
			this.#output = this.#openOutput();
		});
	}

	get isOpen(): boolean {
		return this.#output !== undefined;
	}

	/** Plays a track from its current position. @throws {Error} if the output cannot be opened or written to */
	start(track: Track): void {
		this.#writtenBytes = 0;
		this.#endAtByte = undefined;
		this.#isStreaming = true;
		this.#track = track;
		this.#output ??= this.#openOutput();
		this.#putSilence(Math.floor(this.#output.leadInMs ?? 0) * bytesPerMs);
		// A sound that continues after silence fades in.
		this.#isStarved = this.#writtenBytes > 0 || !track.isReady;
		this.#startRun();
		this.#write(blocksBeforeStart * blockBytes - this.#writtenBytes);
		this.#output.start();
		this.#startedAtMs = this.#now();
		this.#planEnd();
	}

	/** Bytes of a track that were heard; all consumed bytes unless it is playing. */
	heardBytesOf(track: Track): number {
		if (this.#startedAtMs === undefined || this.#track !== track) return track.consumed;
		const heard = this.#runFromByte + Math.max(0, this.#outputBytes - this.#runAtByte);
		return Math.min(track.consumed, heard);
	}

	/** Ends the track; the output plays silence until `stop`. */
	endTrack(): void {
		this.#track = undefined;
		this.#isStreaming = false;
		this.#endAtByte = undefined;
		this.#clearEnd();
	}

	stop(): void {
		this.#clearEnd();
		this.#startedAtMs = undefined;
		this.#output?.stop();
	}

	/** Ends the track if the output has stopped requesting samples. Must be called periodically. */
	check(): void {
		if (!this.#isStreaming || this.#outputBytes - this.#writtenBytes < stalledOutputBytes) return;
		trace("audio: the output accepts no samples\n");
		this.#onEnd("error");
	}

	/** Begins a run of samples, after a start or a gap. */
	#startRun(): void {
		this.#runAtByte = this.#writtenBytes;
		this.#runFromByte = this.#track?.consumed ?? 0;
	}

	/** Fills the free blocks. */
	#fill(): void {
		if (this.#startedAtMs === undefined) return;
		const outputBytes = this.#outputBytes;
		if (this.#writtenBytes < outputBytes) this.#onGap(outputBytes);
		this.#onHeard();
		const playedBlocks = Math.floor(outputBytes / blockBytes);
		const freeBytes = (playedBlocks + blocks) * blockBytes - this.#writtenBytes;
		try {
			if (freeBytes > 0) this.#write(freeBytes);
			this.#rejections = 0;
		} catch (error) {
			this.#rejections += 1;
			if (this.#rejections <= blocks) return this.#correctDrift();
			trace(`audio: ${error}\n`);
			return this.#onEnd("error");
		}
		this.#planEnd();
	}

	/** Corrects drift by a block: the output is slightly slower than the clock, which shows after many minutes. */
	#correctDrift(): void {
		if (this.#startedAtMs !== undefined) this.#startedAtMs += blockBytes / bytesPerMs;
		this.#clearEnd();
		this.#planEnd();
	}

	/** Handles a turn that outlasted the queue: the output has played silence meanwhile. */
	#onGap(outputBytes: number): void {
		this.#writtenBytes = Math.ceil(outputBytes / blockBytes) * blockBytes;
		if (!this.#isStreaming) return;
		this.#isStarved = true;
		this.#track?.onUnderrun?.();
	}

	/** @param byteCount free bytes in the output */
	#write(byteCount: number): void {
		const endByte = this.#writtenBytes + byteCount;
		if (this.#isStreaming && this.#track) this.#writeTrack(this.#track, endByte);
		let silentEndByte = endByte;
		if (this.#isStreaming && this.#startedAtMs !== undefined) {
			if (!this.#isStarved) return;
			// While samples are awaited, little silence is queued, so that they follow sooner.
			const lowByte = Math.ceil((this.#outputBytes + lowBytes) / blockBytes) * blockBytes;
			silentEndByte = Math.min(endByte, lowByte);
		}
		this.#putSilence(silentEndByte);
	}

	/** @param endByte output position at which the silence ends */
	#putSilence(endByte: number): void {
		while (this.#writtenBytes < endByte) this.#put(this.#silence.subarray(0, endByte - this.#writtenBytes));
	}

	#writeTrack(track: Track, endByte: number): void {
		if (this.#isStarved) {
			if (!track.isReady || endByte - this.#writtenBytes < fadeBytes) return;
			this.#startRun();
			if (track.consumed > 0) this.#putFaded(track, true);
			this.#isStarved = false;
		}
		// Samples for a fade-out are held back in case a gap follows.
		for (;;) {
			const maxBytes = Math.min(
				endByte - this.#writtenBytes,
				track.available - (track.isWhole ? 0 : fadeBytes),
			);
			if (maxBytes < 2) break;
			this.#putConsumed(track, track.consume(maxBytes));
		}
		if (track.isWhole && track.available < 2) {
			this.#isStreaming = false;
			this.#endAtByte = this.#writtenBytes;
		} else if (this.#startedAtMs !== undefined && this.#writtenBytes - this.#outputBytes < lowBytes) {
			this.#putFaded(track, false);
			this.#isStarved = true;
			track.onUnderrun?.();
		}
	}

	#put(samples: Uint8Array): void {
		this.#output?.write(samples);
		this.#writtenBytes += samples.byteLength;
	}

	/** Writes consumed samples; rewinds the track if the output rejects them. */
	#putConsumed(track: Track, samples: Uint8Array): void {
		try {
			this.#put(samples);
		} catch (error) {
			track.rewind(track.consumed - samples.byteLength);
			throw error;
		}
	}

	#putFaded(track: Track, isRising: boolean): void {
		const bytes = new Uint8Array(this.#fading.buffer);
		let filled = 0;
		while (filled < fadeBytes) {
			const samples = track.consume(fadeBytes - filled);
			if (samples.byteLength === 0) break;
			bytes.set(samples, filled);
			filled += samples.byteLength;
		}
		const count = filled / 2;
		for (let index = 0; index < count; index++) {
			const gain = (isRising ? index : count - index) / count;
			this.#fading[index] = (this.#fading[index] ?? 0) * gain;
		}
		this.#putConsumed(track, bytes.subarray(0, filled));
	}

	#planEnd(): void {
		if (this.#endAtByte === undefined || this.#endTimer || this.#startedAtMs === undefined) return;
		const elapsedMs = this.#now() - this.#startedAtMs;
		this.#endTimer = Timer.set(
			() => this.#onEnd("played"),
			Math.max(0, Math.ceil(this.#endAtByte / bytesPerMs) - elapsedMs),
		);
	}

	#clearEnd(): void {
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
	}

	/** Bytes that the output has played since its start. */
	get #outputBytes(): number {
		return this.#startedAtMs === undefined ? 0 : (this.#now() - this.#startedAtMs) * bytesPerMs;
	}
}
