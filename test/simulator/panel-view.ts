/** DEV-1 panel in the simulator's window: positions of its parts and their state in a screenshot. */

import type { Color, Picture } from "./screen.js";

/** Origin in a window of 900 by 810; the panel is centered in the space beside the controls. */
const ringMiddle = Object.freeze({ x: 610, y: 359 });
const pixelCount = 12;
const pixelRadius = 122;
/** Offset inside the pixel (radius 12), and outside the white of the die. */
const belowDie = 10;
const bar = Object.freeze({ dx: -48, dy: 18, width: 96 });
const pillDot = Object.freeze({ wifi: { dx: -154, dy: 196 }, gateway: { dx: 22, dy: 196 } });

interface Area {
	readonly x: number;
	readonly y: number;
	readonly width: number;
	readonly height: number;
}

/** Position below the volume. */
const muteSign = Object.freeze({ dx: -16, dy: 50, width: 32, height: 32 });
/** Position in the window, below the controls of a DEV-1. */
const log: Area = Object.freeze({ x: 0, y: 233, width: 310, height: 547 });

const accent: Color = [0x4f, 0x9c, 0xf9];
const bad: Color = [0xf0, 0x52, 0x4f];
/** Colors of panels/parts/log.js. */
const logColors = Object.freeze({ command: accent, problem: bad });
const pillColors: Readonly<Record<string, string>> = Object.freeze({
	"62 207 142": "good",
	"245 166 35": "waiting",
	"240 82 79": "bad",
});

export class PanelView {
	readonly #picture: Picture;

	constructor(picture: Picture) {
		this.#picture = picture;
	}

	/** Positions of the LEDs: the first is at the top, the others follow clockwise. */
	get ring(): readonly Color[] {
		return Array.from({ length: pixelCount }, (_, index) => {
			const angle = (index / pixelCount) * 2 * Math.PI;
			const dx = Math.round(pixelRadius * Math.sin(angle));
			const dy = Math.round(-pixelRadius * Math.cos(angle)) + belowDie;
			return this.#colorAt(dx, dy);
		});
	}

	/** Length in screen pixels, 0 to 96. */
	get volumeBar(): number {
		let length = 0;
		for (let x = 0; x < bar.width; x++)
			if (distance(this.#colorAt(bar.dx + x, bar.dy), accent) < 40) length += 1;
		return length;
	}

	/** `good`, `waiting` or `bad`; otherwise the color. */
	pill(kind: "wifi" | "gateway"): string {
		const { dx, dy } = pillDot[kind];
		const color = this.#colorAt(dx, dy).join(" ");
		return pillColors[color] ?? color;
	}

	get hasMuteSign(): boolean {
		const { dx, dy, ...size } = muteSign;
		return this.#has(bad, { x: ringMiddle.x + dx, y: ringMiddle.y + dy, ...size });
	}

	/** Whether the log has a line of that type. */
	hasLogged(kind: "command" | "problem"): boolean {
		return this.#has(logColors[kind], log);
	}

	#has(color: Color, { x: left, y: top, width, height }: Area): boolean {
		for (let y = top; y < top + height; y++)
			for (let x = left; x < left + width; x++)
				if (distance(this.#picture.colorAt(x, y), color) < 20) return true;
		return false;
	}

	#colorAt(dx: number, dy: number): Color {
		return this.#picture.colorAt(ringMiddle.x + dx, ringMiddle.y + dy);
	}
}

/** Largest difference in a channel. */
export function distance(a: Color, b: Color): number {
	return Math.max(...a.map((value, channel) => Math.abs(value - (b[channel] ?? 0))));
}
