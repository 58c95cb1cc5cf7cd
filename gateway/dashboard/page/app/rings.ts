/**
 * Renders the LED rings of devices on canvases with the firmware's own patterns. One clock animates all rings, which lists render only on screen; equal ones are
 * drawn once and copied. Rings at rest are still, and so are all if the user prefers reduced motion.
 */

import type { PixelStrip } from "../../../../device/host.js";
import {
	frameIntervalMs,
	type LedState,
	ledState,
	lightOverlay,
	paint,
	type ShownLight,
} from "../../../../device/peripherals/led-patterns.js";

export interface RingAppearance {
	readonly state: LedState;
	/** 0 to 1. */
	readonly brightness: number;
	/** Light that overlays the state. */
	readonly light?: ShownLight | undefined;
	/** Whether the pattern is animated. */
	readonly isMoving: boolean;
}

/** Fractions of the canvas width. */
const radius = 0.385;
const thickness = 0.17;
/** Radii of a pixel and of its glow on a ring of up to 12 pixels. */
const pixelRadius = 0.053;
const glowRadius = 0.113;
/** Opacity of a ring at rest. As a style it would cost 4 ms in each frame while a list is scrolled. */
const restAlpha = 0.7;

interface Ring {
	pixels: number;
	appearance: RingAppearance | undefined;
	/** Number of the drawn frame; undefined before the first. */
	frame: number | undefined;
}

export class Rings {
	readonly #rings = new Map<HTMLCanvasElement, Ring>();
	readonly #reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
	#isAwake = false;
	#timer: number | undefined;

	constructor() {
		this.#reducedMotion.addEventListener("change", () => {
			for (const ring of this.#rings.values()) ring.frame = undefined;
			this.#wake();
		});
	}

	/** Adds a canvas or changes its ring. @param appearance undefined if unknown */
	show(canvas: HTMLCanvasElement, pixels: number, appearance: RingAppearance | undefined): void {
		this.#rings.set(canvas, { pixels, appearance, frame: undefined });
		this.#wake();
	}

	remove(canvas: HTMLCanvasElement): void {
		this.#rings.delete(canvas);
	}

	/** Schedules the next frame. @param delayMs time without motion */
	#wake(delayMs = 0): void {
		if (this.#isAwake) return;
		if (delayMs > 0) {
			clearTimeout(this.#timer);
			this.#timer = window.setTimeout(() => this.#wake(), delayMs);
			return;
		}
		this.#isAwake = true;
		requestAnimationFrame(() => this.#draw());
	}

	#draw(): void {
		this.#isAwake = false;
		const now = Date.now();
		const drawn = new Map<string, HTMLCanvasElement>();
		let nextMs = Number.POSITIVE_INFINITY;
		for (const [canvas, ring] of this.#rings) {
			const { pixels, appearance } = ring;
			const intervalMs = appearance && !this.#reducedMotion.matches ? intervalOf(appearance) : 0;
			const frame = intervalMs === 0 ? 0 : Math.floor(now / intervalMs);
			if (intervalMs > 0) nextMs = Math.min(nextMs, (frame + 1) * intervalMs - now);
			if (frame === ring.frame) continue;
			ring.frame = frame;
			const size = Math.round(canvas.clientWidth * Math.min(window.devicePixelRatio, 2));
			const context = size > 0 ? canvas.getContext("2d") : null;
			if (!context) continue;
			// Setting the size clears the canvas.
			canvas.width = size;
			canvas.height = size;
			const name = `${size} ${pixels} ${JSON.stringify(appearance)}`;
			const same = drawn.get(name);
			drawn.set(name, same ?? canvas);
			if (same) context.drawImage(same, 0, 0);
			else {
				context.scale(size, size);
				drawRing(context, pixels, appearance, intervalMs === 0 ? stillTimeMs(appearance) : now);
				if (!appearance?.isMoving) dim(context);
			}
		}
		if (Number.isFinite(nextMs)) this.#wake(Math.max(1, nextMs));
	}
}

function intervalOf({ state, light, isMoving }: RingAppearance): number {
	if (!isMoving) return 0;
	return light ? lightOverlay(light).frameMs : frameIntervalMs(state);
}

/** Time at which the pattern is brightest, for a still ring. */
function stillTimeMs(appearance: RingAppearance | undefined): number {
	return appearance?.state === ledState.updating || appearance?.light?.effect === "breathe" ? 1500 : 0;
}

/** Colors that the firmware would set. */
function colorsOf(length: number, { state, brightness, light }: RingAppearance, timeMs: number): number[] {
	const colors = new Array<number>(length).fill(0);
	const strip: PixelStrip = {
		length,
		makeRGB: (red, green, blue) => (red << 16) | (green << 8) | blue,
		setPixel: (index, color) => {
			colors[index] = color;
		},
		update() {},
		close() {},
	};
	if (light) lightOverlay(light).paint(strip, timeMs, brightness);
	else paint(strip, state, timeMs, brightness);
	return colors;
}

/** @param context scaled to one unit in both directions */
function drawRing(
	context: CanvasRenderingContext2D,
	pixels: number,
	appearance: RingAppearance | undefined,
	timeMs: number,
): void {
	drawBody(context, appearance !== undefined);
	// More than 12 pixels need smaller ones.
	const scale = Math.min(1, 12 / pixels);
	/** Center of a pixel; the first is at the top, the others follow clockwise. */
	const centerOf = (index: number) => {
		const angle = (index / pixels) * 2 * Math.PI - Math.PI / 2;
		return [0.5 + radius * Math.cos(angle), 0.5 + radius * Math.sin(angle)] as const;
	};
	const disc = (index: number, size: number, fill: string | CanvasGradient) => {
		context.beginPath();
		context.arc(...centerOf(index), size * scale, 0, 2 * Math.PI);
		context.fillStyle = fill;
		context.fill();
	};
	for (let index = 0; index < pixels; index++) disc(index, pixelRadius, appearance ? "#333936" : "#8a918d3d");
	if (!appearance) return;
	// Strip values are linear in light; the exponents map them to perceived brightness.
	for (const [index, color] of colorsOf(pixels, appearance, timeMs).entries()) {
		const channels = [(color >> 16) & 255, (color >> 8) & 255, color & 255];
		const strongest = Math.max(...channels);
		if (strongest === 0) continue;
		const hue = channels.map((channel) => 255 * (channel / strongest) ** 0.7);
		const brightness = 0.22 + 0.78 * (strongest / 255) ** 0.45;
		const [x, y] = centerOf(index);
		const glow = context.createRadialGradient(x, y, 0, x, y, glowRadius * scale);
		glow.addColorStop(0, rgb(hue, 0.75 * brightness));
		glow.addColorStop(0.45, rgb(hue, 0.38 * brightness));
		glow.addColorStop(1, rgb(hue, 0));
		disc(index, glowRadius, glow);
		disc(index, pixelRadius, rgb(hue, brightness));
		const core = hue.map((channel) => channel + (255 - channel) * 0.45);
		disc(index, pixelRadius * 0.5, rgb(core, brightness));
	}
}

function drawBody(context: CanvasRenderingContext2D, isKnown: boolean): void {
	context.beginPath();
	context.arc(0.5, 0.5, radius, 0, 2 * Math.PI);
	context.lineWidth = thickness;
	context.strokeStyle = isKnown ? "#0e1110" : "#8a918d2e";
	context.stroke();
	context.lineWidth = 0.008;
	context.strokeStyle = "#8a918d59";
	for (const edge of isKnown ? [radius - thickness / 2, radius + thickness / 2] : []) {
		context.beginPath();
		context.arc(0.5, 0.5, edge, 0, 2 * Math.PI);
		context.stroke();
	}
}

function dim(context: CanvasRenderingContext2D): void {
	context.globalCompositeOperation = "destination-in";
	context.fillStyle = `rgb(0 0 0 / ${restAlpha})`;
	context.fillRect(0, 0, 1, 1);
}

function rgb(channels: readonly number[], alpha: number): string {
	return `rgb(${channels.map(Math.round).join(" ")} / ${alpha.toFixed(3)})`;
}
