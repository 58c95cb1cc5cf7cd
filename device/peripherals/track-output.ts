/**
 * Streams a track to the audio output.
 *
 * The output has six blocks, of which five are filled before it starts. From then on every free one is filled, with silence
 * where there are no samples, so that no old block is repeated. What is free and what was heard follows from the clock: the
 * SDK counts samples as played when they are queued, and forgets at the start what was queued.
 */

import Timer from "timer";
import type { AudioOutput, Host } from "../host.js";
import { sampleRate, type Track } from "./track.js";

/** modules/io/audioout/esp32/audioout-esp32.c: I2S_DMA_BUFFER_MAX_SIZE and dma_desc_num. */
const blockBytes = 4092;
const blocks = 6;
const blocksBeforeStart = 5;
const bytesPerMs = (sampleRate * 2) / 1000;
/** Length of the fade where a sound breaks off and continues: at full scale 102 a sample. */
const fadeBytes = 20 * bytesPerMs;
/** Threshold below which late samples are replaced by silence. A block is played in 128 ms. */
const lowBytes = 2 * blockBytes;
/** After everything that was written: a turn lasts less, by the watchdog. */
const silentOutputBytes = 10_000 * bytesPerMs;

export interface TrackOutputOptions {
	readonly output: Host["peripheral"]["audioOutput"];
	/** Monotonic milliseconds. */
	readonly now: () => number;
	/** Called when blocks have been played, before they are filled again. */
	readonly onHeard: () => void;
	/** The last sample was played, or the output has failed. */
	readonly onEnd: (end: "played" | "error") => void;
}

export class TrackOutput {
	readonly #openOutput: () => AudioOutput;
	/** Undefined: it could not be opened, which is tried again for each track. */
	#output: AudioOutput | undefined;
	readonly #now: () => number;
	readonly #onHeard: () => void;
	readonly #onEnd: (end: "played" | "error") => void;
	readonly #silence = new Uint8Array(1024);
	/** Samples that fade. */
	readonly #fading = new Int16Array(fadeBytes / 2);

	/** While it is played. */
	#track: Track | undefined;
	#endTimer: Timer | undefined;
	/** Writes that the output has refused in a row. */
	#refusals = 0;
	/** When the output started; undefined: it is stopped. */
	#startedAtMs: number | undefined;
	/** Bytes written since. */
	#writtenBytes = 0;
	/** Output position at which the track's samples began after the start or the last gap. */
	#runAtByte = 0;
	/** Track position that was written there. */
	#runFromByte = 0;
	/** Whether samples of the track are still to be written. */
	#isStreaming = false;
	/** Samples did not come in time, and are awaited. */
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
		try {
			this.#output = this.#openOutput();
		} catch (error) {
			trace(`audio: ${error}\n`);
		}
	}

	get isOpen(): boolean {
		return this.#output !== undefined;
	}

	/** Plays a track from where it is. @throws {Error} if the output cannot be opened or written to */
	start(track: Track): void {
		this.#writtenBytes = 0;
		this.#endAtByte = undefined;
		this.#isStreaming = true;
		this.#track = track;
		this.#output ??= this.#openOutput();
		this.#putSilence(Math.floor(this.#output.leadInMs ?? 0) * bytesPerMs);
		// After silence a sound that goes on fades in.
		this.#isStarved = this.#writtenBytes > 0 || !track.isReady;
		this.#startRun();
		this.#write(blocksBeforeStart * blockBytes - this.#writtenBytes);
		this.#output.start();
		this.#startedAtMs = this.#now();
		this.#planEnd();
	}

	/** Bytes of a track that were heard: all that were taken, unless it is playing. */
	heardBytesOf(track: Track): number {
		if (this.#startedAtMs === undefined || this.#track !== track) return track.taken;
		const heard = this.#runFromByte + Math.max(0, this.#outputBytes - this.#runAtByte);
		return Math.min(track.taken, heard);
	}

	/** Ends the track: silence follows until `stop`. */
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

	/** Ends a track of which the output asks for no more samples; to be called now and then. */
	check(): void {
		if (!this.#isStreaming || this.#outputBytes - this.#writtenBytes < silentOutputBytes) return;
		trace("audio: the output takes no samples\n");
		this.#onEnd("error");
	}

	/** The samples that are written next follow a start or a gap. */
	#startRun(): void {
		this.#runAtByte = this.#writtenBytes;
		this.#runFromByte = this.#track?.taken ?? 0;
	}

	/** Fills the blocks that are free. */
	#fill(): void {
		if (this.#startedAtMs === undefined) return;
		const outputBytes = this.#outputBytes;
		if (this.#writtenBytes < outputBytes) this.#onGap(outputBytes);
		this.#onHeard();
		const playedBlocks = Math.floor(outputBytes / blockBytes);
		const room = (playedBlocks + blocks) * blockBytes - this.#writtenBytes;
		try {
			if (room > 0) this.#write(room);
			this.#refusals = 0;
		} catch (error) {
			this.#refusals += 1;
			if (this.#refusals <= blocks) return this.#wait();
			trace(`audio: ${error}\n`);
			return this.#onEnd("error");
		}
		this.#planEnd();
	}

	/** The output is a little slower than the clock, which shows after many minutes: its time is set back by a block. */
	#wait(): void {
		if (this.#startedAtMs !== undefined) this.#startedAtMs += blockBytes / bytesPerMs;
		this.#clearEnd();
		this.#planEnd();
	}

	/** A turn lasted longer than what was queued: the output has played silence meanwhile. */
	#onGap(outputBytes: number): void {
		this.#writtenBytes = Math.ceil(outputBytes / blockBytes) * blockBytes;
		if (!this.#isStreaming) return;
		this.#isStarved = true;
		this.#track?.onUnderrun?.();
	}

	/** @param room in the output, in bytes */
	#write(room: number): void {
		const endByte = this.#writtenBytes + room;
		if (this.#isStreaming && this.#track) this.#writeTrack(this.#track, endByte);
		let silentEndByte = endByte;
		if (this.#isStreaming && this.#startedAtMs !== undefined) {
			if (!this.#isStarved) return;
			// Little silence is enough while samples are awaited, which then follow sooner.
			const lowByte = Math.ceil((this.#outputBytes + lowBytes) / blockBytes) * blockBytes;
			silentEndByte = Math.min(endByte, lowByte);
		}
		this.#putSilence(silentEndByte);
	}

	/** @param endByte where it ends */
	#putSilence(endByte: number): void {
		while (this.#writtenBytes < endByte) this.#put(this.#silence.subarray(0, endByte - this.#writtenBytes));
	}

	#writeTrack(track: Track, endByte: number): void {
		if (this.#isStarved) {
			if (!track.isReady || endByte - this.#writtenBytes < fadeBytes) return;
			this.#startRun();
			if (track.taken > 0) this.#putFaded(track, true);
			this.#isStarved = false;
		}
		// The last samples before a gap are to fade out.
		for (;;) {
			const most = Math.min(endByte - this.#writtenBytes, track.available - (track.isWhole ? 0 : fadeBytes));
			if (most < 2) break;
			this.#putTaken(track, track.take(most));
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

	/** Rewinds the track if the output rejects its samples. */
	#putTaken(track: Track, samples: Uint8Array): void {
		try {
			this.#put(samples);
		} catch (error) {
			track.rewind(track.taken - samples.byteLength);
			throw error;
		}
	}

	#putFaded(track: Track, isRising: boolean): void {
		const bytes = new Uint8Array(this.#fading.buffer);
		let filled = 0;
		while (filled < fadeBytes) {
			const samples = track.take(fadeBytes - filled);
			if (samples.byteLength === 0) break;
			bytes.set(samples, filled);
			filled += samples.byteLength;
		}
		const count = filled / 2;
		for (let index = 0; index < count; index++) {
			const gain = (isRising ? index : count - index) / count;
			this.#fading[index] = (this.#fading[index] ?? 0) * gain;
		}
		this.#putTaken(track, bytes.subarray(0, filled));
	}

	#planEnd(): void {
		if (this.#endAtByte === undefined || this.#endTimer || this.#startedAtMs === undefined) return;
		const passedMs = this.#now() - this.#startedAtMs;
		this.#endTimer = Timer.set(
			() => this.#onEnd("played"),
			Math.max(0, Math.ceil(this.#endAtByte / bytesPerMs) - passedMs),
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
