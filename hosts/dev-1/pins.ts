/** Pins and tuning of a DEV-1. The pins of I2S are in manifest.json too. */

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
	/** ES8311 control: CDATA and CCLK, pulled up on the board. */
	codec: Object.freeze({ data: 8, clock: 9 }),
	/** ES8311 sound: MCLK, SCLK, LRCK and DSDIN. */
	i2s: Object.freeze({ masterClock: 16, bitClock: 17, wordSelect: 18, dataOut: 15 }),
	/** The amplifier's enable, pulled down on the board. */
	amplifier: 14,
});

export const tuning: BoardTuning = Object.freeze({
	amplifierStartMs: 120,
});
