/**
 * Pins and tuning of a PROTO-1. All pins except GPIO 5, the ES8311 and the module are assumptions; compare them with the board before
 * flashing. The I2S pins are repeated in manifest.json.
 */

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
	/** ES8311 control interface (I2C): CDATA and CCLK, with pull-ups on the board. */
	codec: Object.freeze({ data: 8, clock: 9 }),
	/** ES8311 audio interface: MCLK, SCLK, LRCK and DSDIN. */
	i2s: Object.freeze({ masterClock: 16, bitClock: 17, wordSelect: 18, dataOut: 15 }),
	/** Amplifier enable, with a pull-down on the board. */
	amplifier: 14,
	/** Gate of the haptic motor's transistor, with a pull-down on the board. The only confirmed pin. */
	haptics: 5,
	/** Light sensor voltage, on ADC1. */
	ambientLight: 4,
	/** Touch pad: channel 7. */
	touch: 7,
});

export const tuning: Proto1Tuning = Object.freeze({
	amplifierStartMs: 120,
	/** Value of ESP-IDF's touch_sens_basic example: behind plastic, a finger raises the count by only a few percent. */
	touchThreshold: 0.015,
});
