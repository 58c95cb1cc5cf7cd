/** Types of the boards' pins.ts: GPIO numbers of the ESP32-S3. A test checks that the chip supports each use. */

/** Order in which an LED receives its colors. */
export type ColorOrder = "RGB" | "RBG" | "GRB" | "GBR" | "BRG" | "BGR";

export interface BoardPins {
	readonly button: {
		readonly play: number;
		readonly mute: number;
		readonly volumeUp: number;
		readonly volumeDown: number;
	};
	/** WS2812 data. */
	readonly ledRing: number;
	/** Default: "GRB", as in the WS2812. */
	readonly ledOrder?: ColorOrder;
	/** I2C pins. The address is 0x18 (default) or 0x19, set by the codec's pin CE. */
	readonly codec: { readonly data: number; readonly clock: number; readonly address?: number };
	/** Must match manifest.json in the same folder, from which the SDK reads them; a test compares the two. */
	readonly i2s: {
		/** 256 times the sample rate. */
		readonly masterClock: number;
		readonly bitClock: number;
		readonly wordSelect: number;
		readonly dataOut: number;
	};
	readonly amplifier: number;
}

/** Values that depend on the parts and the enclosure of a board. */
export interface BoardTuning {
	/** Delay from enabling the amplifier to the first sample, 0 to 400 ms; class-D amplifiers need tens of milliseconds. */
	readonly amplifierStartMs: number;
}

export interface Proto1Tuning extends BoardTuning {
	/** Relative increase of the pad's count that counts as a touch. */
	readonly touchThreshold: number;
}

export interface Proto1Pins extends BoardPins {
	readonly haptics: number;
	/** ADC1 pin: GPIO 1 to 10. */
	readonly ambientLight: number;
	/** Touch channel: GPIO 1 to 14. */
	readonly touch: number;
}
