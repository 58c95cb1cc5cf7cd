/** Types of the boards' pins.ts, GPIO numbers of the ESP32-S3. A test checks that the chip can use each as intended. */

export interface BoardPins {
	readonly button: {
		readonly play: number;
		readonly mute: number;
		readonly volumeUp: number;
		readonly volumeDown: number;
	};
	/** WS2812 data. */
	readonly ledRing: number;
	/** In which its LEDs take the colors; default "GRB", that of a WS2812. */
	readonly ledOrder?: string;
	/** I2C; the address is 0x18 (default) or 0x19, by the codec's pin CE. */
	readonly codec: { readonly data: number; readonly clock: number; readonly address?: number };
	/** The SDK takes these from the manifest.json beside pins.ts; a test compares the two. */
	readonly i2s: {
		/** 256 times the sample rate. */
		readonly masterClock: number;
		readonly bitClock: number;
		readonly wordSelect: number;
		readonly dataOut: number;
	};
	readonly amplifier: number;
}

/** What differs with the parts and the housing of a board. */
export interface BoardTuning {
	/** From the amplifier's enable to the first sample, in milliseconds: class-D amplifiers need tens of them. 0 to 400. */
	readonly amplifierStartMs: number;
}

export interface Proto1Tuning extends BoardTuning {
	/** By how much a finger raises the pad's count, as a share of the count without one. */
	readonly touchThreshold: number;
}

export interface Proto1Pins extends BoardPins {
	readonly haptics: number;
	/** On ADC1: GPIO 1 to 10. */
	readonly ambientLight: number;
	/** A touch channel: GPIO 1 to 14. */
	readonly touch: number;
}
