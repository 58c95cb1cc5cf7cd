/** Patterns of the LED ring as functions of time. Painting allocates no memory, since it runs 30 times a second on a small heap. */

import type { PixelStrip } from "../host.js";
import type { LedPreset, Light } from "../protocol/messages.js";

export const ledState = Object.freeze({
	off: 0,
	wifiConnecting: 1,
	wifiFailed: 2,
	serverConnecting: 3,
	serverFailed: 4,
	connected: 5,
	updating: 6,
} as const);
export type LedState = (typeof ledState)[keyof typeof ledState];

export const stateOfPreset: Readonly<Record<LedPreset, LedState>> = Object.freeze({
	rainbow: ledState.connected,
	connecting: ledState.serverConnecting,
	failed: ledState.wifiFailed,
	idle: ledState.off,
	updating: ledState.updating,
});

/** Values of `led_ring.state_name`, indexed by state. */
export const presetOfState: readonly LedPreset[] = Object.freeze([
	"idle",
	"connecting",
	"failed",
	"connecting",
	"failed",
	"rainbow",
	"updating",
]);

const flashPeriodMs = 1000;
const rainbowPeriodMs = 2000;
const breathPeriodMs = 3000;
const identifyPeriodMs = 500;
/** Visible in daylight, at less current than full brightness. */
const overlayBrightness = 0.5;
const smoothFrameMs = 33;
/** Frame interval of the slowly turning light shown while a sound plays. */
const slowFrameMs = 100;
const slowTurnMs = 3000;
/** Length of the tail of a turning light, as a share of the ring. */
const tail = 1 / 3;
/** Colors, as 0xrrggbb. */
const black = 0x000000;
const red = 0xff0000;
const orange = 0xff6000;
const blue = 0x0000ff;
const magenta = 0xff00ff;
const white = 0xffffff;
const accent = 0x00ffa0;
/** Turn of the circling pixel of a device without settings. */
const unprovisionedPeriodMs = 3000;

export interface LedPattern {
	/** Milliseconds between frames; 0: the pattern is static. */
	readonly frameMs: number;
	/**
	 * Paints one frame into the buffer, without `update`.
	 * @param timeMs since the pattern began
	 * @param brightness as set, perceived, 0 to 1; ignored by patterns that must be noticed
	 */
	readonly paint: (strip: PixelStrip, timeMs: number, brightness: number) => void;
}

function pattern(frameMs: number, paint: LedPattern["paint"]): LedPattern {
	return Object.freeze({ frameMs, paint });
}

const rainbow = pattern(smoothFrameMs, (strip, timeMs, brightness) => {
	const light = lightFor(brightness);
	const phase = (timeMs % rainbowPeriodMs) / rainbowPeriodMs;
	for (let index = 0; index < strip.length; index++) {
		const hue = (index / strip.length + 1 - phase) % 1;
		const color = strip.makeRGB(
			channel(hueChannel(hue + 1 / 3), light),
			channel(hueChannel(hue), light),
			channel(hueChannel(hue + 2 / 3), light),
		);
		strip.setPixel(index, color);
	}
});

/** @param color 0xrrggbb, also of the following patterns */
function solid(color: number): LedPattern {
	return pattern(0, (strip, _timeMs, brightness) => fill(strip, color, brightness));
}

function blink(color: number): LedPattern {
	return pattern(flashPeriodMs / 2, (strip, timeMs, brightness) =>
		fill(strip, color, isLit(timeMs) ? brightness : 0),
	);
}

function breathe(color: number): LedPattern {
	return pattern(smoothFrameMs, (strip, timeMs, brightness) =>
		fill(strip, color, brightness * breath(timeMs)),
	);
}

/** Creates the pattern of a state. A table would put the functions into ROM, where XS takes RAM for each color they capture. */
export function patternOf(state: LedState): LedPattern {
	switch (state) {
		case ledState.off:
			return solid(black);
		case ledState.wifiConnecting:
			return blink(red);
		case ledState.wifiFailed:
			return solid(red);
		case ledState.serverConnecting:
			return blink(orange);
		case ledState.serverFailed:
			return solid(orange);
		case ledState.connected:
			return rainbow;
		case ledState.updating:
			return breathe(blue);
	}
}

/** White flashes that identify a device. */
export const identifyOverlay = pattern(identifyPeriodMs / 2, (strip, timeMs) =>
	fill(strip, white, isLit(timeMs, identifyPeriodMs) ? overlayBrightness : 0),
);

/** Magenta ring that goes out pixel by pixel: the time until the settings are erased. @param lengthMs of the countdown */
export function countdownOverlay(lengthMs: number): LedPattern {
	return pattern(100, (strip, timeMs) => {
		const lit = Math.ceil(strip.length * Math.max(0, 1 - timeMs / lengthMs));
		fill(strip, black, 0);
		const color = colorOf(strip, magenta, overlayBrightness);
		for (let index = 0; index < lit; index++) strip.setPixel(index, color);
	});
}

/** Arc whose length is the volume; muted: one red LED. @param volume 0 to 100 */
export function volumeOverlay(volume: number): LedPattern {
	return pattern(0, (strip, _timeMs, brightness) => {
		if (volume > 0) return paintArc(strip, volume / 100, accent, brightness);
		fill(strip, black, 0);
		strip.setPixel(0, colorOf(strip, red, brightness));
	});
}

/** Slowly turning light while a sound is loaded or played, for people with hearing loss. */
export const soundOverlay = pattern(slowFrameMs, (strip, timeMs, brightness) =>
	paintTurning(strip, timeMs / slowTurnMs, accent, brightness),
);

/** Light of a report, received or under construction. */
export type ShownLight = Pick<Light, "color" | "effect"> & { readonly progress?: number | undefined };

/** Overlay of `set_light`. */
export function lightOverlay({ color, effect, progress = 0 }: ShownLight): LedPattern {
	const rgb = Number.parseInt(color.slice(1), 16);
	switch (effect) {
		case "solid":
			return solid(rgb);
		case "breathe":
			return breathe(rgb);
		case "blink":
			return blink(rgb);
		case "turn":
			return pattern(smoothFrameMs, (strip, timeMs, brightness) =>
				paintTurning(strip, timeMs / rainbowPeriodMs, rgb, brightness),
			);
		case "progress":
			return pattern(0, (strip, _timeMs, brightness) => paintArc(strip, progress, rgb, brightness));
	}
}

/** Alternating orange and red: the gateway rejects the token or the device, so someone must change something. */
export const rejectedOverlay = pattern(flashPeriodMs / 2, (strip, timeMs) =>
	fill(strip, isLit(timeMs) ? orange : red, overlayBrightness),
);

/** Circling white pixel: the device has no settings. */
export const unprovisionedOverlay = pattern(unprovisionedPeriodMs / 12, (strip, timeMs) => {
	fill(strip, black, 0);
	const index = Math.floor(((timeMs % unprovisionedPeriodMs) / unprovisionedPeriodMs) * strip.length);
	strip.setPixel(index, colorOf(strip, white, overlayBrightness));
});

/** Converts perceived brightness to light output, both 0 to 1, by CIE 1931 lightness. */
export function lightFor(brightness: number): number {
	const lightness = brightness * 100;
	return lightness <= 8 ? lightness / 903.3 : ((lightness + 16) / 116) ** 3;
}

function isLit(timeMs: number, periodMs = flashPeriodMs): boolean {
	return timeMs % periodMs < periodMs / 2;
}

function breath(timeMs: number): number {
	return 0.1 + 0.45 * (1 - Math.cos((2 * Math.PI * (timeMs % breathPeriodMs)) / breathPeriodMs));
}

function fill(strip: PixelStrip, color: number, brightness: number): void {
	const shown = colorOf(strip, color, brightness);
	for (let index = 0; index < strip.length; index++) strip.setPixel(index, shown);
}

/** @param share of the ring, 0 to 1; a fraction dims the last LED */
function paintArc(strip: PixelStrip, share: number, color: number, brightness: number): void {
	const lit = share * strip.length;
	for (let index = 0; index < strip.length; index++)
		strip.setPixel(index, colorOf(strip, color, brightness * Math.max(0, Math.min(1, lit - index))));
}

/** Paints one bright LED with a fading tail. @param turns since the start */
function paintTurning(strip: PixelStrip, turns: number, color: number, brightness: number): void {
	for (let index = 0; index < strip.length; index++) {
		const behind = (turns + 1 - index / strip.length) % 1;
		strip.setPixel(index, colorOf(strip, color, brightness * Math.max(0, 1 - behind / tail)));
	}
}

/** @param color 0xrrggbb */
function colorOf(strip: PixelStrip, color: number, brightness: number): number {
	const light = lightFor(brightness);
	return strip.makeRGB(
		channel(color >> 16, light),
		channel((color >> 8) & 0xff, light),
		channel(color & 0xff, light),
	);
}

/** Channel of a saturated color: 255 for a third of the circle, falling to 0 on both sides. */
function hueChannel(position: number): number {
	const sixth = (position % 1) * 6;
	if (sixth < 1) return 255 * sixth;
	if (sixth < 3) return 255;
	if (sixth < 4) return 255 * (4 - sixth);
	return 0;
}

/** Scales a channel; a full channel stays at least 1, so that no color turns black at low brightness. */
function channel(value: number, light: number): number {
	if (value === 255 && light > 0) return Math.max(1, Math.round(255 * light));
	return Math.round(value * light);
}
