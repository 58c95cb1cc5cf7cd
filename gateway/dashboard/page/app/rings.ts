/**
 * Draws the LED rings as the devices show them: with the firmware's own patterns, on a canvas in place of LEDs. One
 * clock moves all, and equal rings are drawn once and copied; only visible ones, and none if a person prefers less
 * motion.
 */

import type { PixelStrip } from "../../../../device/host.js";
import {
	frameIntervalMs,
	type LedState,
	ledState,
	paint,
} from "../../../../device/peripherals/led-patterns.js";

/** What a ring shows; undefined: unknown. */
export interface Look {
	readonly state: LedState;
	/** 0 to 1. */
	readonly brightness: number;
}

/** Of the canvas' width. */
const radius = 0.385;
const thickness = 0.17;
/** Of a pixel, and of its glow, where the ring has up to 12. */
const pixelRadius = 0.053;
const glowRadius = 0.113;

interface Ring {
	pixels: number;
	look: Look | undefined;
	isVisible: boolean;
	/** Number of the frame that is drawn; undefined: none is. */
	frame: number | undefined;
}

export class Rings {
	readonly #rings = new Map<Element, Ring>();
	readonly #stillness = matchMedia("(prefers-reduced-motion: reduce)");
	readonly #strips = new Map<number, DrawnStrip>();
	readonly #observer = new IntersectionObserver((entries) => {
		for (const { target, isIntersecting } of entries) {
			const ring = this.#rings.get(target);
			if (ring) ring.isVisible = isIntersecting;
		}
		this.#wake();
	});
	#isAwake = false;
	#timer: number | undefined;

	constructor() {
		this.#stillness.addEventListener("change", () => {
			for (const ring of this.#rings.values()) ring.frame = undefined;
			this.#wake();
		});
	}

	/** @returns a function that ends it */
	add(canvas: HTMLCanvasElement): () => void {
		this.#rings.set(canvas, { pixels: 0, look: undefined, isVisible: false, frame: undefined });
		this.#observer.observe(canvas);
		return () => {
			this.#observer.unobserve(canvas);
			this.#rings.delete(canvas);
		};
	}

	show(canvas: HTMLCanvasElement, pixels: number, look: Look | undefined): void {
		const ring = this.#rings.get(canvas);
		if (!ring) return;
		ring.pixels = pixels;
		ring.look = look;
		ring.frame = undefined;
		this.#wake();
	}

	/** @param delayMs until which nothing moves */
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
			if (!ring.isVisible || !(canvas instanceof HTMLCanvasElement)) continue;
			const { pixels, look } = ring;
			const intervalMs = look && !this.#stillness.matches ? frameIntervalMs(look.state) : 0;
			const frame = intervalMs === 0 ? 0 : Math.floor(now / intervalMs);
			if (intervalMs > 0) nextMs = Math.min(nextMs, (frame + 1) * intervalMs - now);
			if (frame === ring.frame) continue;
			ring.frame = frame;
			const size = fit(canvas);
			const name = `${size} ${pixels} ${look?.state} ${look?.brightness}`;
			const same = drawn.get(name);
			if (same) copy(same, canvas);
			else this.#stripOf(pixels).draw(canvas, look, intervalMs === 0 ? stillTimeMs(look) : now);
			drawn.set(name, same ?? canvas);
		}
		if (Number.isFinite(nextMs)) this.#wake(Math.max(1, nextMs));
	}

	#stripOf(pixels: number): DrawnStrip {
		const strip = this.#strips.get(pixels) ?? new DrawnStrip(pixels);
		this.#strips.set(pixels, strip);
		return strip;
	}
}

/** The moment at which the pattern is brightest, for a still picture. */
function stillTimeMs(look: Look | undefined): number {
	return look?.state === ledState.updating ? 1500 : 0;
}

/** Gives a canvas the screen's pixels. @returns how many it is wide and high */
function fit(canvas: HTMLCanvasElement): number {
	const size = Math.round(canvas.clientWidth * Math.min(devicePixelRatio, 2));
	if (canvas.width !== size) {
		canvas.width = size;
		canvas.height = size;
	}
	return size;
}

function copy(from: HTMLCanvasElement, to: HTMLCanvasElement): void {
	const context = to.getContext("2d");
	if (!context || from.width === 0) return;
	context.resetTransform();
	context.globalCompositeOperation = "copy";
	context.drawImage(from, 0, 0);
	context.globalCompositeOperation = "source-over";
}

/** Implements the strip of LEDs, as each host does. */
class DrawnStrip implements PixelStrip {
	readonly length: number;
	readonly #colours: Uint32Array;
	/** Of the pixels' size: more than 12 would not fit beside one another. */
	readonly #scale: number;

	constructor(length: number) {
		this.length = length;
		this.#colours = new Uint32Array(length);
		this.#scale = Math.min(1, 12 / length);
	}

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(index: number, colour: number): void {
		this.#colours[index] = colour;
	}

	update(): void {}

	close(): void {}

	draw(canvas: HTMLCanvasElement, look: Look | undefined, timeMs: number): void {
		const size = canvas.width;
		const context = canvas.getContext("2d");
		if (!context || size === 0) return;
		context.setTransform(size, 0, 0, size, 0, 0);
		context.clearRect(0, 0, 1, 1);
		drawBody(context, look !== undefined);
		for (let index = 0; index < this.length; index++)
			this.#disc(context, index, pixelRadius, look ? "#333936" : "#8a918d3d");
		if (!look) return;
		paint(this, look.state, timeMs, look.brightness);
		for (const [index, colour] of this.#colours.entries()) this.#drawPixel(context, index, colour);
	}

	/** A lit pixel with its glow; the strip is driven in light, which a screen and an eye take for brightness. */
	#drawPixel(context: CanvasRenderingContext2D, index: number, colour: number): void {
		const channels = [(colour >> 16) & 255, (colour >> 8) & 255, colour & 255];
		const strongest = Math.max(...channels);
		if (strongest === 0) return;
		const hue = channels.map((channel) => 255 * (channel / strongest) ** 0.7);
		const brightness = 0.22 + 0.78 * (strongest / 255) ** 0.45;
		const { x, y } = this.#centreOf(index);
		const glow = context.createRadialGradient(x, y, 0, x, y, glowRadius * this.#scale);
		glow.addColorStop(0, rgb(hue, 0.75 * brightness));
		glow.addColorStop(0.45, rgb(hue, 0.38 * brightness));
		glow.addColorStop(1, rgb(hue, 0));
		this.#disc(context, index, glowRadius, glow);
		this.#disc(context, index, pixelRadius, rgb(hue, brightness));
		const core = hue.map((channel) => channel + (255 - channel) * 0.45);
		this.#disc(context, index, pixelRadius * 0.5, rgb(core, brightness));
	}

	#disc(context: CanvasRenderingContext2D, index: number, size: number, fill: string | CanvasGradient): void {
		const { x, y } = this.#centreOf(index);
		context.beginPath();
		context.arc(x, y, size * this.#scale, 0, 2 * Math.PI);
		context.fillStyle = fill;
		context.fill();
	}

	/** The first pixel is at the top, the others follow clockwise. */
	#centreOf(index: number): { x: number; y: number } {
		const angle = (index / this.length) * 2 * Math.PI - Math.PI / 2;
		return { x: 0.5 + radius * Math.cos(angle), y: 0.5 + radius * Math.sin(angle) };
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

function rgb(channels: readonly number[], alpha: number): string {
	return `rgb(${channels.map(Math.round).join(" ")} / ${alpha.toFixed(3)})`;
}
