/** Interface between the audio player and its sources. */

/** Hertz. */
export const sampleRate = 16_000;

/** Reason for stopping or replacing a track. */
export type StopReason =
	| "button"
	| "chime"
	| "another sound"
	| "update"
	| "restart"
	| "command"
	| "quiet hours";
/** How a track ended. `error`: the output failed; `codec`: the codec does not answer. */
export type TrackEnd = "played" | "error" | "codec" | StopReason;

/** Source of samples: signed 16 bits, little-endian, mono, 16 kHz. */
export interface Track {
	/** Value of `audio.current_track`. */
	readonly uri: string;
	/** 0 to 100, while the track plays; undefined: the base volume. May change when samples are released. */
	readonly volume: number | undefined;
	/** Whether the volume was set during playback; that volume then applies instead. */
	isVolumeOverridden?: boolean;
	/** Whether the track cannot be replaced by a chime. */
	readonly isUrgent?: boolean;
	/** Bytes that can be consumed. */
	readonly available: number;
	/** Whether the track is completely loaded: nothing will be added to `available`. */
	readonly isWhole: boolean;
	/** Whether enough is loaded to begin. */
	readonly isReady: boolean;
	/** Bytes consumed so far. */
	readonly consumed: number;
	/** @returns whole samples, at most `byteCount` bytes; valid during the turn */
	consume(byteCount: number): Uint8Array;
	/** Frees the samples before `position`, which were heard. */
	release(position: number): void;
	/** Makes consume() continue at `position`. */
	rewind(position: number): void;
	/** Called when samples were late. */
	onUnderrun?(): void;
	/** Called once, last. @param heardBytes bytes of the track that were heard */
	onEnd?(end: TrackEnd, heardBytes: number): void;
}
