/**
 * The pattern of each LED state as a function of time (specification, 3.1). Painting allocates no memory: it runs 30
 * times a second on a small heap.
 */

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

/** `led_ring.state_name`, by state. */
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
/** Visible in daylight, with less current than a full ring. */
const overlayBrightness = 0.5;
const smoothFrameMs = 33;
/** Of light that turns slowly, beside which a sound is played. */
const slowFrameMs = 100;
const slowTurnMs = 3000;
/** Share of the ring behind the brightest LED of a light that turns. */
const tail = 1 / 3;
const accent = 0x00ffa0;
const red = 0xff0000;
/** One turn of the pixel of a device without settings. */
const unprovisionedPeriodMs = 3000;

/** In milliseconds; 0: the pattern is static. */
export function frameIntervalMs(state: LedState): number {
	switch (state) {
		case ledState.wifiConnecting:
		case ledState.serverConnecting:
			return flashPeriodMs / 2;
		case ledState.connected:
		case ledState.updating:
			return smoothFrameMs;
		default:
			return 0;
	}
}

/**
 * @param timeMs since the start of the state
 * @param brightness perceived, 0 to 1
 */
export function paint(strip: PixelStrip, state: LedState, timeMs: number, brightness: number): void {
	switch (state) {
		case ledState.off:
			return fill(strip, 0, 0, 0, 0);
		case ledState.wifiConnecting:
			return fill(strip, 255, 0, 0, isLit(timeMs) ? brightness : 0);
		case ledState.wifiFailed:
			return fill(strip, 255, 0, 0, brightness);
		case ledState.serverConnecting:
			return fill(strip, 255, 96, 0, isLit(timeMs) ? brightness : 0);
		case ledState.serverFailed:
			return fill(strip, 255, 96, 0, brightness);
		case ledState.connected:
			return paintRainbow(strip, (timeMs % rainbowPeriodMs) / rainbowPeriodMs, brightness);
		case ledState.updating:
			return fill(strip, 0, 0, 255, brightness * breath((timeMs % breathPeriodMs) / breathPeriodMs));
	}
}

/** Covers the state without changing it, so that the reported state is one of the specification's. */
export interface Overlay {
	/** Milliseconds from one frame to the next; 0: it is static. */
	readonly frameMs: number;
	/**
	 * Paints one frame without showing it.
	 * @param timeMs since the overlay began
	 * @param brightness as set, perceived, 0 to 1; what a person must see ignores it
	 */
	readonly paint: (strip: PixelStrip, timeMs: number, brightness: number) => void;
}

/** White flashes that identify a device. */
export const identifyOverlay: Overlay = Object.freeze({
	frameMs: identifyPeriodMs / 2,
	paint(strip: PixelStrip, timeMs: number): void {
		const isLit = timeMs % identifyPeriodMs < identifyPeriodMs / 2;
		fill(strip, 255, 255, 255, isLit ? overlayBrightness : 0);
	},
});

/** A magenta ring that goes out pixel by pixel: the time left until the settings are erased. @param lengthMs of all of it */
export function countdownOverlay(lengthMs: number): Overlay {
	return {
		frameMs: 100,
		paint(strip, timeMs) {
			const lit = Math.ceil(strip.length * Math.max(0, 1 - timeMs / lengthMs));
			fill(strip, 0, 0, 0, 0);
			const color = colorOf(strip, 255, 0, 255, overlayBrightness);
			for (let index = 0; index < lit; index++) strip.setPixel(index, color);
		},
	};
}

/** As much of the ring as the volume; muted: one red LED. @param volume 0 to 100 */
export function volumeOverlay(volume: number): Overlay {
	return {
		frameMs: 0,
		paint(strip, _timeMs, brightness) {
			if (volume > 0) return paintArc(strip, volume / 100, accent, brightness);
			fill(strip, 0, 0, 0, 0);
			paintPixel(strip, 0, red, brightness);
		},
	};
}

/** A light that turns slowly, for those who do not hear: a sound of the network is loaded or played. */
export const soundOverlay: Overlay = Object.freeze({
	frameMs: slowFrameMs,
	paint(strip: PixelStrip, timeMs: number, brightness: number): void {
		paintTurning(strip, timeMs / slowTurnMs, accent, brightness);
	},
});

/** Of a report that was received, or is made. */
export type ShownLight = Pick<Light, "color" | "effect"> & { readonly progress?: number | undefined };

/** The ring as a light. */
export function lightOverlay({ color, effect, progress = 0 }: ShownLight): Overlay {
	const rgb = Number.parseInt(color.slice(1), 16);
	switch (effect) {
		case "solid":
			return { frameMs: 0, paint: (strip, _timeMs, brightness) => fillWith(strip, rgb, brightness) };
		case "breathe":
			return {
				frameMs: smoothFrameMs,
				paint: (strip, timeMs, brightness) =>
					fillWith(strip, rgb, brightness * breath((timeMs % breathPeriodMs) / breathPeriodMs)),
			};
		case "blink":
			return {
				frameMs: flashPeriodMs / 2,
				paint: (strip, timeMs, brightness) => fillWith(strip, rgb, isLit(timeMs) ? brightness : 0),
			};
		case "turn":
			return {
				frameMs: smoothFrameMs,
				paint: (strip, timeMs, brightness) => paintTurning(strip, timeMs / rainbowPeriodMs, rgb, brightness),
			};
		case "progress":
			return {
				frameMs: 0,
				paint: (strip, _timeMs, brightness) => paintArc(strip, progress, rgb, brightness),
			};
	}
}

/** Orange and red in turns: the gateway refuses the token; a person has to change it. */
export const refusedOverlay: Overlay = Object.freeze({
	frameMs: flashPeriodMs / 2,
	paint(strip: PixelStrip, timeMs: number): void {
		fill(strip, 255, isLit(timeMs) ? 96 : 0, 0, overlayBrightness);
	},
});

/** One circling white pixel: the device has no settings. */
export const unprovisionedOverlay: Overlay = Object.freeze({
	frameMs: unprovisionedPeriodMs / 12,
	paint(strip: PixelStrip, timeMs: number): void {
		fill(strip, 0, 0, 0, 0);
		const index = Math.floor(((timeMs % unprovisionedPeriodMs) / unprovisionedPeriodMs) * strip.length);
		strip.setPixel(index, colorOf(strip, 255, 255, 255, overlayBrightness));
	},
});

/** From perceived brightness to light output, both 0 to 1: CIE 1931 lightness. */
export function lightFor(brightness: number): number {
	const lightness = brightness * 100;
	return lightness <= 8 ? lightness / 903.3 : ((lightness + 16) / 116) ** 3;
}

function isLit(timeMs: number): boolean {
	return timeMs % flashPeriodMs < flashPeriodMs / 2;
}

function breath(phase: number): number {
	return 0.1 + 0.45 * (1 - Math.cos(2 * Math.PI * phase));
}

function fill(strip: PixelStrip, red: number, green: number, blue: number, brightness: number): void {
	const color = colorOf(strip, red, green, blue, brightness);
	for (let index = 0; index < strip.length; index++) strip.setPixel(index, color);
}

/** @param color 0xrrggbb */
function fillWith(strip: PixelStrip, color: number, brightness: number): void {
	for (let index = 0; index < strip.length; index++) paintPixel(strip, index, color, brightness);
}

/** @param share of the ring, 0 to 1; the last LED is dim for a fraction */
function paintArc(strip: PixelStrip, share: number, color: number, brightness: number): void {
	const lit = share * strip.length;
	for (let index = 0; index < strip.length; index++)
		paintPixel(strip, index, color, brightness * Math.max(0, Math.min(1, lit - index)));
}

/** One bright LED with a tail that fades. @param turns since the start */
function paintTurning(strip: PixelStrip, turns: number, color: number, brightness: number): void {
	for (let index = 0; index < strip.length; index++) {
		const behind = (turns + 1 - index / strip.length) % 1;
		paintPixel(strip, index, color, brightness * Math.max(0, 1 - behind / tail));
	}
}

function paintPixel(strip: PixelStrip, index: number, color: number, brightness: number): void {
	const shown = colorOf(strip, color >> 16, (color >> 8) & 0xff, color & 0xff, brightness);
	strip.setPixel(index, shown);
}

function colorOf(strip: PixelStrip, red: number, green: number, blue: number, brightness: number): number {
	const light = lightFor(brightness);
	return strip.makeRGB(channel(red, light), channel(green, light), channel(blue, light));
}

function paintRainbow(strip: PixelStrip, phase: number, brightness: number): void {
	const light = lightFor(brightness);
	for (let index = 0; index < strip.length; index++) {
		const hue = (index / strip.length + 1 - phase) % 1;
		strip.setPixel(
			index,
			strip.makeRGB(
				channel(hueChannel(hue + 1 / 3), light),
				channel(hueChannel(hue), light),
				channel(hueChannel(hue + 2 / 3), light),
			),
		);
	}
}

/** One channel of a saturated color: 255 for a third of the circle, falling to 0 on both sides. */
function hueChannel(position: number): number {
	const sixth = (position % 1) * 6;
	if (sixth < 1) return 255 * sixth;
	if (sixth < 3) return 255;
	if (sixth < 4) return 255 * (4 - sixth);
	return 0;
}

/** A color other than black stays visible at the lowest brightness. */
function channel(value: number, light: number): number {
	if (value === 255 && light > 0) return Math.max(1, Math.round(255 * light));
	return Math.round(value * light);
}
