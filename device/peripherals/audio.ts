/**
 * Plays chimes and sounds, and controls the volume, by the codec's gain.
 *
 * The output has six blocks, of which five are filled before it starts. From then on every free one is filled, with silence
 * where there are no samples, so that no old block is repeated. What is free and what was heard follows from the clock: the
 * SDK counts samples as played when they are queued, and forgets at the start what was queued.
 */

import Timer from "timer";
import type { AudioOutput, Codec, Host } from "../host.js";
import type { Chime, CompleteReport, PlayerState, QuietHours } from "../protocol/messages.js";
import { ChimeTrack } from "./chimes.js";
import { type Stopper, sampleRate, type Track, type TrackEnd } from "./track.js";

/** modules/io/audioout/esp32/audioout-esp32.c: I2S_DMA_BUFFER_MAX_SIZE and dma_desc_num. */
const blockBytes = 4092;
const blocks = 6;
const blocksBeforeStart = 5;
const bytesPerMs = (sampleRate * 2) / 1000;
/** The codec's ramp (host.ts). */
const rampMs = 40;
/** Of a codec that does not answer. */
const codecRetryMs = 5_000;
/** Of samples where a sound breaks off and goes on: at full scale 102 a sample. */
const fadeBytes = 20 * bytesPerMs;
/** With less in the output, samples that did not come in time are replaced by silence. A block is played in 128 ms. */
const lowBytes = 2 * blockBytes;
/** After everything that was written: a turn lasts less, by the watchdog. */
const silentOutputBytes = 10_000 * bytesPerMs;

export const codecFault = "The codec does not answer.";
const outputFault = "The audio output cannot be opened.";

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

/** Report in safe mode. Made each time: XS's JSON.stringify refuses an object in ROM. */
export function unusedAudio(): CompleteReport["peripherals"]["audio"] {
	return { volume: 0, player_state: "idle", current_track: "none", fault: undefined };
}

export class Audio {
	readonly #openOutput: () => AudioOutput;
	/** Undefined: it could not be opened, which is tried again for each track. */
	#output: AudioOutput | undefined;
	readonly #codec: Codec;
	readonly #now: () => number;
	readonly #onChanged: () => void;
	readonly #silence = new Uint8Array(1024);
	/** Samples that fade. */
	readonly #fading = new Int16Array(fadeBytes / 2);

	#volume: number;
	/** The last volume that was not 0. */
	#audibleVolume: number;
	/** Whether it was muted, not stepped down to 0. */
	#isMuted: boolean;
	/** Those that hold. */
	#quiet: QuietHours | undefined;

	#state: PlayerState = "idle";
	#track: Track | undefined;
	#endTimer: Timer | undefined;
	#stopTimer: Timer | undefined;
	/** While the codec does not answer. */
	#codecTimer: Timer | undefined;

	/** Writes that the output has refused in a row. */
	#refusals = 0;
	/** When the output started; undefined: it is stopped. */
	#startedAtMs: number | undefined;
	/** Bytes written since. */
	#writtenBytes = 0;
	/** Of these, where the track's samples began after the start or the last gap. */
	#runAtByte = 0;
	/** Of the track, what was written first then. */
	#runFromByte = 0;
	/** Whether samples of the track are still to be written. */
	#isStreaming = false;
	/** Samples did not come in time, and are awaited. */
	#isStarved = false;
	/** Where the track's last sample ends, once that is written. */
	#endAtByte: number | undefined;

	constructor(options: AudioOptions) {
		this.#codec = new options.codec({});
		this.#codec.isMuted = true;
		this.#openOutput = () =>
			new options.output({
				sampleRate,
				channels: 1,
				bitsPerSample: 16,
				onWritable: () => this.#fill(),
			});
		try {
			this.#output = this.#openOutput();
		} catch (error) {
			trace(`audio: ${error}\n`);
		}
		this.#now = options.now;
		this.#onChanged = options.onChanged;
		this.#volume = options.volume;
		this.#audibleVolume = options.volume || options.audibleVolume;
		this.#isMuted = options.volume === 0;
		this.#codec.volume = options.volume;
		this.#watchCodec();
	}

	get report(): CompleteReport["peripherals"]["audio"] {
		return {
			volume: this.volume,
			player_state: this.#state,
			current_track: this.#track?.uri ?? "none",
			fault: this.#fault,
		};
	}

	/** Why nothing is heard. */
	get #fault(): string | undefined {
		if (this.#output === undefined) return outputFault;
		return this.#codec.isReady ? undefined : codecFault;
	}

	get isReady(): boolean {
		return this.#output !== undefined && this.#codec.isReady;
	}

	/** Whether a track plays or is paused. */
	get isActive(): boolean {
		return this.#state === "playing" || this.#state === "paused";
	}

	/** Why no chime is played now; undefined: one may be. */
	get chimeObstacle(): string | undefined {
		if (this.isUrgentOnly) return "in these quiet hours only urgent sounds are played; try again after them";
		return this.#track?.isUrgent ? "an urgent sound plays; try again after it" : undefined;
	}

	/** Quiet hours that hold. */
	set quiet(hours: QuietHours | undefined) {
		this.#quiet = hours;
		this.#setGain();
	}

	/** Whether quiet hours hold in which only urgent sounds are played. */
	get isUrgentOnly(): boolean {
		return this.#quiet?.only_urgent ?? false;
	}

	/** 0 (mute) to 100 (max): what is heard, where quiet hours allow it. */
	get volume(): number {
		return this.#trackVolume ?? this.#volume;
	}

	get #trackVolume(): number | undefined {
		return this.#track?.isOverruled ? undefined : this.#track?.volume;
	}

	/** As a person has set it: without that of a track. */
	get lastingVolume(): number {
		return this.#volume;
	}

	/** Lasts, also where a track has another. */
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
		this.volume = this.volume === 0 ? this.#audibleVolume : 0;
	}

	/**
	 * From mute (by button or set_volume 0) a step starts at the last audible volume; from a volume stepped down to 0,
	 * at 0; while a track has its own volume, at that.
	 */
	changeVolume(by: number): void {
		const from = this.#trackVolume ?? (this.#isMuted ? this.#audibleVolume : this.#volume);
		this.#isMuted = false;
		this.#setVolume(Math.max(0, Math.min(100, from + by)));
	}

	/** @param by what ends the previous track */
	play(chime: Chime, by: Stopper = "chime"): void {
		this.playTrack(new ChimeTrack(chime), by);
	}

	/** @param by what ends the previous track */
	playTrack(track: Track, by: Stopper): void {
		this.#end(by, "idle");
		this.#silenceNow();
		this.#track = track;
		this.#setGain();
		this.#begin();
	}

	pause(): void {
		if (this.#state !== "playing") return;
		this.#release();
		this.#track?.rewind(this.heardBytes);
		this.#isStreaming = false;
		this.#endAtByte = undefined;
		this.#fadeOut();
		this.#setState("paused");
	}

	resume(): void {
		if (this.#state !== "paused") return;
		this.#silenceNow();
		this.#begin();
	}

	/** Stops for an update, and checks the codec for the confirmation of the new image (update/probation.ts). */
	stop(): void {
		this.#codec.check();
		if (this.isActive) this.#stopAs("stopped", "update");
	}

	/** Stops the track, if it is that one. */
	stopTrack(track: Track, by: Stopper): void {
		if (this.#track === track) this.#stopAs("idle", by);
	}

	/** Ends a track of which the output asks for no more samples; to be called now and then. */
	checkOutput(): void {
		if (!this.#isStreaming || this.#outputBytes - this.#writtenBytes < silentOutputBytes) return;
		trace("audio: the output takes no samples\n");
		this.#stopAs("idle", "error");
	}

	toggle(): void {
		if (this.#state === "playing") this.pause();
		else if (this.#state === "paused") this.resume();
		else if (!this.isUrgentOnly) this.play("startup");
	}

	/** Of the track, in whole samples. */
	get heardBytes(): number {
		const { taken = 0 } = this.#track ?? {};
		if (this.#startedAtMs === undefined || this.#state !== "playing") return taken;
		const heard = this.#runFromByte + Math.max(0, this.#outputBytes - this.#runAtByte);
		return Math.min(taken, heard);
	}

	#setVolume(volume: number): void {
		const previous = this.volume;
		if (this.#track) this.#track.isOverruled = true;
		if (this.#volume === volume && previous === volume) return;
		this.#volume = volume;
		if (volume > 0) this.#audibleVolume = volume;
		if (previous !== volume) this.#setGain();
		this.#watchCodec();
		this.#onChanged();
	}

	#setGain(): void {
		const most = this.#track?.isUrgent ? 100 : (this.#quiet?.volume ?? 100);
		this.#codec.volume = Math.min(this.volume, most);
	}

	#begin(): void {
		this.#writtenBytes = 0;
		this.#endAtByte = undefined;
		this.#isStreaming = true;
		try {
			this.#output ??= this.#openOutput();
			this.#putSilence(Math.floor(this.#output.leadInMs ?? 0) * bytesPerMs);
			// After silence a sound that goes on fades in.
			this.#isStarved = this.#writtenBytes > 0 || this.#track?.isReady === false;
			this.#startRun();
			this.#write(blocksBeforeStart * blockBytes - this.#writtenBytes);
			this.#output.start();
		} catch (error) {
			trace(`audio: ${error}\n`);
			return this.#stopAs("idle", "error");
		}
		this.#startedAtMs = this.#now();
		this.#codec.isMuted = false;
		if (!this.#codec.isReady) this.#codec.check();
		if (!this.#codec.isReady) return this.#stopAs("idle", "codec");
		this.#planEnd();
		this.#setState("playing");
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
		this.#release();
		const playedBlocks = Math.floor(outputBytes / blockBytes);
		const room = (playedBlocks + blocks) * blockBytes - this.#writtenBytes;
		try {
			if (room > 0) this.#write(room);
			this.#refusals = 0;
		} catch (error) {
			this.#refusals += 1;
			if (this.#refusals <= blocks) return this.#wait();
			trace(`audio: ${error}\n`);
			return this.#stopAs("idle", "error");
		}
		this.#planEnd();
	}

	/** A chime before a sound may have another volume. */
	#release(): void {
		const previous = this.volume;
		this.#track?.release(this.heardBytes);
		if (this.volume === previous) return;
		this.#setGain();
		this.#onChanged();
	}

	/** The output is a little slower than the clock, which shows after many minutes: its time is set back by a block. */
	#wait(): void {
		if (this.#startedAtMs !== undefined) this.#startedAtMs += blockBytes / bytesPerMs;
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
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

	/** What the output refuses is taken again. */
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
			() => {
				this.#codec.check();
				this.#stopAs("idle", this.#codec.isReady ? "played" : "codec");
			},
			Math.max(0, Math.ceil(this.#endAtByte / bytesPerMs) - passedMs),
		);
	}

	/** Bytes that the output has played since its start. */
	get #outputBytes(): number {
		return this.#startedAtMs === undefined ? 0 : (this.#now() - this.#startedAtMs) * bytesPerMs;
	}

	#stopAs(state: PlayerState, end: TrackEnd): void {
		this.#end(end, state);
		this.#fadeOut();
		this.#setGain();
		this.#setState(state);
	}

	/** @param state for a report that the track's owner may send */
	#end(end: TrackEnd, state: PlayerState): void {
		const track = this.#track;
		if (!track) return;
		const heardBytes = end === "played" ? track.taken : end === "codec" ? 0 : this.heardBytes;
		this.#track = undefined;
		this.#isStreaming = false;
		this.#endAtByte = undefined;
		this.#state = state;
		if (end === "codec") trace(`audio: ${codecFault}\n`);
		track.onEnd?.(end, heardBytes);
	}

	#fadeOut(): void {
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
		this.#codec.isMuted = true;
		this.#watchCodec();
		this.#stopTimer ??= Timer.set(() => this.#silenceNow(), rampMs);
	}

	/** Tries a codec that does not answer, in the background: each try may take some of the turn. */
	#watchCodec(): void {
		if (this.#codec.isReady) return;
		this.#codecTimer ??= Timer.repeat(() => {
			this.#codec.check();
			if (!this.#codec.isReady) return;
			Timer.clear(this.#codecTimer);
			this.#codecTimer = undefined;
			this.#onChanged();
		}, codecRetryMs);
	}

	#silenceNow(): void {
		Timer.clear(this.#endTimer);
		this.#endTimer = undefined;
		Timer.clear(this.#stopTimer);
		this.#stopTimer = undefined;
		this.#codec.isMuted = true;
		this.#startedAtMs = undefined;
		this.#output?.stop();
	}

	#setState(state: PlayerState): void {
		this.#state = state;
		this.#onChanged();
	}
}
