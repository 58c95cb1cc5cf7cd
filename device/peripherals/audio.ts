/** Audio player: plays chimes and sounds, and sets the volume by the codec's gain. */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { Codec, Host } from "../host.js";
import type { Chime, CompleteReport, PlayerState, QuietHours } from "../protocol/messages.js";
import { ChimeTrack } from "./chimes.js";
import type { StopReason, Track, TrackEnd } from "./track.js";
import { TrackOutput } from "./track-output.js";

/** The codec's ramp (host.ts). */
const rampMs = 40;
const codecRetryMs = 5_000;
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

/** Audio report in safe mode. Created each time, since XS's JSON.stringify rejects objects in ROM. */
export function inactiveAudio(): CompleteReport["peripherals"]["audio"] {
	return {
		volume: 0,
		muted: undefined,
		unmuted_volume: undefined,
		player_state: "idle",
		current_track: "none",
		fault: undefined,
	};
}

export class Audio {
	readonly #output: TrackOutput;
	readonly #codec: Codec;
	readonly #onChanged: () => void;

	#volume: number;
	/** The last volume that was not 0. */
	#audibleVolume: number;
	/** Quiet hours in effect. */
	#quiet: QuietHours | undefined;

	#state: PlayerState = "idle";
	#track: Track | undefined;
	#stopTimer: Timer | undefined;
	/** Retries while the codec does not answer. */
	#codecTimer: Timer | undefined;

	constructor(options: AudioOptions) {
		this.#codec = new options.codec({});
		this.#codec.isMuted = true;
		this.#output = new TrackOutput({
			output: options.output,
			now: options.now,
			onHeard: () => this.#release(),
			onEnd: (end) => this.#onEnd(end),
		});
		this.#onChanged = options.onChanged;
		this.#volume = options.volume;
		this.#audibleVolume = options.volume || options.audibleVolume;
		this.#codec.volume = options.volume;
		this.#watchCodec();
	}

	get report(): CompleteReport["peripherals"]["audio"] {
		return {
			volume: this.volume,
			muted: this.isMuted,
			unmuted_volume: this.isMuted ? this.#audibleVolume : undefined,
			player_state: this.#state,
			current_track: this.#track?.uri ?? "none",
			fault: this.#fault,
		};
	}

	/** Why nothing is audible. */
	get #fault(): string | undefined {
		if (!this.#output.isOpen) return outputFault;
		return this.#codec.isReady ? undefined : codecFault;
	}

	get isReady(): boolean {
		return this.#output.isOpen && this.#codec.isReady;
	}

	/** Whether a track plays or is paused. */
	get isActive(): boolean {
		return this.#state === "playing" || this.#state === "paused";
	}

	/** Why no chime can be played now; undefined: one can. */
	get chimeBusyReason(): string | undefined {
		if (this.isUrgentOnly) return "quiet hours allow only urgent sounds; try again afterwards";
		return this.#track?.isUrgent ? "an urgent sound is playing; try again afterwards" : undefined;
	}

	/** Quiet hours in effect; undefined: none. */
	set quiet(hours: QuietHours | undefined) {
		this.#quiet = hours;
		this.#setGain();
	}

	/** Whether quiet hours currently allow only urgent sounds. */
	get isUrgentOnly(): boolean {
		return this.#quiet?.only_urgent ?? false;
	}

	/** 0 (mute) to 100: the effective volume, before the limit of quiet hours. */
	get volume(): number {
		return this.#trackVolume ?? this.#volume;
	}

	get #trackVolume(): number | undefined {
		return this.#track?.isVolumeOverridden ? undefined : this.#track?.volume;
	}

	/** Volume set by a command or button, regardless of the track's own volume. */
	get baseVolume(): number {
		return this.#volume;
	}

	/** Sets the base volume, and overrides the current track's own volume. */
	set volume(volume: number) {
		const previous = this.volume;
		if (this.#track) this.#track.isVolumeOverridden = true;
		if (this.#volume === volume && previous === volume) return;
		this.#volume = volume;
		if (volume > 0) this.#audibleVolume = volume;
		if (previous !== volume) this.#setGain();
		this.#watchCodec();
		this.#onChanged();
	}

	/** 1 to 100: the last volume that was not 0. */
	get audibleVolume(): number {
		return this.#audibleVolume;
	}

	/** Whether the base volume is 0. A sound with its own volume may be audible. */
	get isMuted(): boolean {
		return this.#volume === 0;
	}

	/** Unmuting restores the last audible volume. */
	set isMuted(isMuted: boolean) {
		if (isMuted || this.isMuted) this.volume = isMuted ? 0 : this.#audibleVolume;
	}

	/** Switches the effective volume between 0 and the last audible volume. */
	toggleMute(): void {
		this.volume = this.volume === 0 ? this.#audibleVolume : 0;
	}

	/** Changes the volume by a step from the track's own volume or the last audible one. */
	changeVolume(by: number): void {
		this.volume = Math.max(0, Math.min(100, (this.#trackVolume ?? this.#audibleVolume) + by));
	}

	/** @param by reason for stopping the previous track */
	play(chime: Chime, by: StopReason = "chime"): void {
		this.playTrack(new ChimeTrack(chime), by);
	}

	/** @param by reason for stopping the previous track */
	playTrack(track: Track, by: StopReason): void {
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
		this.#output.endTrack();
		this.#fadeOut();
		this.#setState("paused");
	}

	resume(): void {
		if (this.#state !== "paused") return;
		this.#silenceNow();
		this.#begin();
	}

	/** Stops for an update. Checks the codec, whose state decides about the confirmation of the new image (update/probation.ts). */
	stop(): void {
		this.#codec.check();
		if (this.isActive) this.#stopAs("stopped", "update");
	}

	/** Stops the track if it is the current one. */
	stopTrack(track: Track, by: StopReason): void {
		if (this.#track === track) this.#stopAs("idle", by);
	}

	/** Ends the track if the output has stopped requesting samples. Must be called periodically. */
	checkOutput(): void {
		this.#output.check();
	}

	toggle(): void {
		if (this.#state === "playing") this.pause();
		else if (this.#state === "paused") this.resume();
		else if (!this.isUrgentOnly) this.play("startup");
	}

	/** Bytes of the current track that were heard, in whole samples. */
	get heardBytes(): number {
		return this.#track ? this.#output.heardBytesOf(this.#track) : 0;
	}

	#setGain(): void {
		const maxVolume = this.#track?.isUrgent ? 100 : (this.#quiet?.volume ?? 100);
		this.#codec.volume = Math.min(this.volume, maxVolume);
	}

	#begin(): void {
		const track = this.#track;
		if (track && !attempt("audio", () => this.#output.start(track))) return this.#stopAs("idle", "error");
		this.#codec.isMuted = false;
		if (!this.#codec.isReady) this.#codec.check();
		if (!this.#codec.isReady) return this.#stopAs("idle", "codec");
		this.#setState("playing");
	}

	#onEnd(end: "played" | "error"): void {
		if (end === "error") return this.#stopAs("idle", end);
		this.#codec.check();
		this.#stopAs("idle", this.#codec.isReady ? "played" : "codec");
	}

	/** Reports progress to the track, whose volume may change: a chime before a sound has its own. */
	#release(): void {
		const previous = this.volume;
		this.#track?.release(this.heardBytes);
		if (this.volume === previous) return;
		this.#setGain();
		this.#onChanged();
	}

	#stopAs(state: PlayerState, end: TrackEnd): void {
		this.#end(end, state);
		this.#fadeOut();
		this.#setGain();
		this.#setState(state);
	}

	/** @param state set before onEnd, so that a report sent there is correct */
	#end(end: TrackEnd, state: PlayerState): void {
		const track = this.#track;
		if (!track) return;
		const heardBytes = end === "played" ? track.consumed : end === "codec" ? 0 : this.heardBytes;
		this.#track = undefined;
		this.#output.endTrack();
		this.#state = state;
		if (end === "codec") trace(`audio: ${codecFault}\n`);
		track.onEnd?.(end, heardBytes);
	}

	#fadeOut(): void {
		this.#codec.isMuted = true;
		this.#watchCodec();
		this.#stopTimer ??= Timer.set(() => this.#silenceNow(), rampMs);
	}

	/** Retries a codec that does not answer, in the background, since each attempt takes part of the turn. */
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
