/**
 * Draws the smooth shapes of the simulator's panel: LED glow and core, and button icons, as alpha masks that the panel fills
 * with a colour. `node --import tsx scripts/assets/panel-sprites.ts` writes hosts/simulator/panels/parts/sprites.png.
 */

import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

/** Coverage of a point, 0 to 1, in pixels from the sprite's centre. */
type Shape = (x: number, y: number) => number;
interface Sprite {
	readonly left: number;
	readonly top: number;
	readonly size: number;
	readonly shape: Shape;
}

const sheetWidth = 176;
const sheetHeight = 112;
/** Samples along each side of a pixel. */
const samples = 4;

const inside = (isInside: boolean) => (isInside ? 1 : 0);
const bar = (x: number, y: number, width: number, height: number) =>
	Math.abs(x) <= width / 2 && Math.abs(y) <= height / 2;

const glow: Shape = (x, y) => Math.max(0, 1 - Math.hypot(x, y) / 56) ** 2;
const core: Shape = (x, y) => inside(Math.hypot(x, y) <= 12.5);
/** The LED's bright centre. */
const spark: Shape = (x, y) => Math.max(0, 1 - Math.hypot(x, y + 1) / 12) ** 1.5;
const minus: Shape = (x, y) => inside(bar(x, y, 16, 2.6));
const plus: Shape = (x, y) => inside(bar(x, y, 16, 2.6) || bar(x, y, 2.6, 16));
/** A triangle, then two bars: play and pause. */
const play: Shape = (x, y) =>
	inside(
		(x >= -11 && x <= 2 && Math.abs(y) <= ((2 - x) / 13) * 8) ||
			bar(x - 5.5, y, 2.6, 15) ||
			bar(x - 10.5, y, 2.6, 15),
	);
/** A loudspeaker, crossed out. */
const mute: Shape = (x, y) => {
	const magnet = x >= -11 && x <= -6 && Math.abs(y) <= 3.6;
	const cone = x >= -6 && x <= 0 && Math.abs(y) <= 3.6 + (x + 6) * 0.75;
	const [u, v] = [x - 7.5, y];
	const cross =
		Math.max(Math.abs(u), Math.abs(v)) <= 4.4 && Math.min(Math.abs(u - v), Math.abs(u + v)) <= 1.8;
	return inside(magnet || cone || cross);
};

const sprites: readonly Sprite[] = [
	{ left: 0, top: 0, size: 112, shape: glow },
	{ left: 112, top: 0, size: 32, shape: core },
	{ left: 112, top: 32, size: 32, shape: mute },
	{ left: 112, top: 64, size: 32, shape: play },
	{ left: 144, top: 0, size: 32, shape: minus },
	{ left: 144, top: 32, size: 32, shape: plus },
	{ left: 144, top: 64, size: 32, shape: spark },
];

function coverage({ size, shape }: Sprite, column: number, row: number): number {
	let sum = 0;
	for (let i = 0; i < samples; i++)
		for (let j = 0; j < samples; j++)
			sum += shape(column + (i + 0.5) / samples - size / 2, row + (j + 0.5) / samples - size / 2);
	return sum / samples ** 2;
}

/** Grey and alpha, 8 bits each; every row begins with filter 0. */
function rows(): Buffer {
	const stride = 1 + sheetWidth * 2;
	const bytes = Buffer.alloc(stride * sheetHeight);
	for (const sprite of sprites)
		for (let row = 0; row < sprite.size; row++)
			for (let column = 0; column < sprite.size; column++) {
				const at = (sprite.top + row) * stride + 1 + (sprite.left + column) * 2;
				bytes[at] = 255;
				bytes[at + 1] = Math.round(255 * coverage(sprite, column, row));
			}
	return bytes;
}

function chunk(type: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
	const framed = Buffer.alloc(body.length + 8);
	framed.writeUInt32BE(data.length, 0);
	body.copy(framed, 4);
	framed.writeUInt32BE(crc32(body), body.length + 4);
	return framed;
}

const header = Buffer.alloc(13);
header.writeUInt32BE(sheetWidth, 0);
header.writeUInt32BE(sheetHeight, 4);
// 8 bits, colour type 4: grey with alpha.
header.set([8, 4, 0, 0, 0], 8);
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
writeFileSync(
	new URL("../../hosts/simulator/panels/parts/sprites.png", import.meta.url),
	Buffer.concat([
		signature,
		chunk("IHDR", header),
		chunk("IDAT", deflateSync(rows(), { level: 9 })),
		chunk("IEND", Buffer.alloc(0)),
	]),
);
