/**
 * Pins and tuning of a DEV-1. All pins except GPIO 5, the ES8311 and the module are assumptions; compare them with the board before
 * flashing. GPIO 5, the haptic motor, is used by the PROTO-1 only. The I2S pins are repeated in manifest.json.
 */

import type { BoardPins, BoardTuning } from "../esp32/pins.js";

export const pins: BoardPins = Object.freeze({
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
});

export const tuning: BoardTuning = Object.freeze({
	amplifierStartMs: 120,
});
