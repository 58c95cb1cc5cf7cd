/** What the player plays, and how that ends. */

/** In hertz. */
export const sampleRate = 16_000;

/** Who or what stopped or replaced a track. */
export type Stopper = "button" | "chime" | "another sound" | "update" | "restart" | "command" | "quiet hours";
/** `error`: the output failed; `codec`: the codec does not answer. */
export type TrackEnd = "played" | "error" | "codec" | Stopper;

/** What is played: signed 16-bit samples, little-endian, mono, 16 kHz. */
export interface Track {
	/** For `audio.current_track`. */
	readonly uri: string;
	/** 0 to 100, while it plays; undefined: as a person has set it. It may change when samples are released. */
	readonly volume: number | undefined;
	/** A person has set another volume while it played, which stands. */
	isOverruled?: boolean;
	/** No chime replaces it. */
	readonly isUrgent?: boolean;
	/** Bytes that take() has. */
	readonly available: number;
	/** Whether nothing will be added to `available`. */
	readonly isWhole: boolean;
	/** Whether there is enough to begin. */
	readonly isReady: boolean;
	/** Bytes taken so far. */
	readonly taken: number;
	/** Whole samples, at most `byteCount`; valid during the turn. */
	take(byteCount: number): Uint8Array;
	/** Everything before `position` was heard. */
	release(position: number): void;
	/** take() continues at `position`. */
	rewind(position: number): void;
	/** Samples did not come in time. */
	onUnderrun?(): void;
	/** Called once, last. @param heardBytes of its samples */
	onEnd?(end: TrackEnd, heardBytes: number): void;
}
