/** Frames of LED patterns, as QEMU decodes them from the pulses of the ring. */

import type { PixelStrip } from "../../../device/host.js";
import {
	type LedPattern,
	type LedState,
	lightOverlay,
	patternOf,
	type ShownLight,
} from "../../../device/peripherals/led-patterns.js";

const pixels = 12;

export class Pattern {
	/** Times at which the pattern shows a frame, in ms; frames as bytes in the wire order of the LEDs, in hex. */
	readonly #times = new Map<string, number[]>();
	readonly periodMs: number;

	/** @param draw draws the frame of a time, in ms @param periodMs 1: a still frame */
	constructor(draw: (strip: PixelStrip, timeMs: number) => void, periodMs: number) {
		this.periodMs = periodMs;
		for (let timeMs = 0; timeMs < periodMs; timeMs++) {
			const frame = frameOf((strip) => draw(strip, timeMs));
			const times = this.#times.get(frame);
			if (times) times.push(timeMs);
			else this.#times.set(frame, [timeMs]);
		}
	}

	static ofState(state: LedState, brightness: number, periodMs: number): Pattern {
		return Pattern.ofOverlay(patternOf(state), brightness, periodMs);
	}

	static ofLight(light: ShownLight, brightness: number, periodMs: number): Pattern {
		return Pattern.ofOverlay(lightOverlay(light), brightness, periodMs);
	}

	static ofOverlay(overlay: LedPattern, brightness: number, periodMs: number): Pattern {
		return new Pattern((strip, timeMs) => overlay.paint(strip, timeMs, brightness), periodMs);
	}

	get frames(): readonly string[] {
		return [...this.#times.keys()];
	}

	includes(frame: string): boolean {
		return this.#times.has(frame);
	}

	/**
	 * Intervals of successive frames by the pattern's own time, in ms: the shortest ones after which it shows the next frame. One of
	 * almost a period means that frames are swapped.
	 */
	intervals(frames: readonly string[]): readonly number[] {
		return frames.slice(1).map((frame, at) => {
			let shortest = this.periodMs;
			for (const start of this.#times.get(frames[at] ?? "") ?? [])
				for (const end of this.#times.get(frame) ?? [])
					shortest = Math.min(shortest, end > start ? end - start : end - start + this.periodMs);
			return shortest;
		});
	}
}

/** @returns bytes of the frame in wire order, in hex */
export function frameOf(draw: (strip: PixelStrip) => void): string {
	const colors = new Array<number>(pixels).fill(0);
	draw({
		length: pixels,
		makeRGB: (red, green, blue) => (green << 16) | (red << 8) | blue,
		setPixel: (index, color) => {
			colors[index] = color;
		},
		update: () => {},
	});
	return colors.map((color) => color.toString(16).padStart(6, "0")).join("");
}
