/** Pins and tuning of a PROTO-1. The pins of I2S are in manifest.json too. */

import type { Proto1Pins, Proto1Tuning } from "../esp32/pins.js";

export const pins: Proto1Pins = Object.freeze({
	button: Object.freeze({
		play: 39,
		mute: 40,
		volumeUp: 41,
		volumeDown: 42,
	}),
	/** WS2812 data. */
	ledRing: 21,
	/** ES8311 control: CDATA and CCLK, pulled up on the board. */
	codec: Object.freeze({ data: 8, clock: 9 }),
	/** ES8311 sound: MCLK, SCLK, LRCK and DSDIN. */
	i2s: Object.freeze({ masterClock: 16, bitClock: 17, wordSelect: 18, dataOut: 15 }),
	/** The amplifier's enable, pulled down on the board. */
	amplifier: 14,
	/** Gate of the motor's transistor, pulled down on the board. The interface specification fixes this pin (4.1). */
	haptics: 5,
	/** Voltage of the light sensor, on ADC1. */
	ambientLight: 4,
	/** The pad: touch channel 7. */
	touch: 7,
});

export const tuning: Proto1Tuning = Object.freeze({
	amplifierStartMs: 120,
	/** As in ESP-IDF's example for this chip (touch_sens_basic): behind plastic a finger raises the count by a few percent only. */
	touchThreshold: 0.015,
});
