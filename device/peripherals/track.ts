/** Interface between the audio player and its sources. */

/** Hertz. */
export const sampleRate = 16_000;

/** Cause of a stopped or replaced track. */
export type Stopper = "button" | "chime" | "another sound" | "update" | "restart" | "command" | "quiet hours";
/** `error`: the output failed; `codec`: the codec does not answer. */
export type TrackEnd = "played" | "error" | "codec" | Stopper;

/** Source of samples: signed 16 bits, little-endian, mono, 16 kHz. */
export interface Track {
	/** Value of `audio.current_track`. */
	readonly uri: string;
	/** 0 to 100, while the track plays; undefined: the base volume. May change when samples are released. */
	readonly volume: number | undefined;
	/** A person has set another volume while it played, which stands. */
	isOverruled?: boolean;
	/** No chime replaces it. */
	readonly isUrgent?: boolean;
	/** Bytes that can be consumed. */
	readonly available: number;
	/** Whether the track is completely loaded: nothing will be added to `available`. */
	readonly isWhole: boolean;
	/** Whether enough is loaded to begin. */
	readonly isReady: boolean;
	/** Bytes taken so far. */
	readonly taken: number;
	/** Whole samples, at most `byteCount`; valid during the turn. */
	take(byteCount: number): Uint8Array;
	/** Everything before `position` was heard. */
	release(position: number): void;
	/** Makes consume() continue at `position`. */
	rewind(position: number): void;
	/** Called when samples were late. */
	onUnderrun?(): void;
	/** Called once, last. @param heardBytes bytes of the track that were heard */
	onEnd?(end: TrackEnd, heardBytes: number): void;
}
