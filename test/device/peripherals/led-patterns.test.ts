import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	type LedState,
	ledState,
	lightFor,
	patternOf,
	presetOfState,
	stateOfPreset,
} from "../../../device/peripherals/led-patterns.js";

type Color = readonly [number, number, number];

/** Colors of twelve pixels, as `[red, green, blue]` each. */
function frame(state: LedState, timeMs: number, brightness = 1): Color[] {
	const pixels: Color[] = [];
	const strip = {
		length: 12,
		makeRGB: (red: number, green: number, blue: number) => (red << 16) | (green << 8) | blue,
		setPixel(index: number, color: number) {
			pixels[index] = [color >> 16, (color >> 8) & 255, color & 255];
		},
		update() {},
	};
	patternOf(state).paint(strip, timeMs, brightness);
	return pixels;
}

const all = (color: Color) => Array.from({ length: 12 }, () => color);

describe("ring patterns", () => {
	test("off is dark at any brightness", () => assert.deepEqual(frame(ledState.off, 0), all([0, 0, 0])));

	test("failed is solid red, or orange for the gateway", () => {
		for (const timeMs of [0, 499, 500, 12_345]) {
			assert.deepEqual(frame(ledState.wifiFailed, timeMs), all([255, 0, 0]));
			assert.deepEqual(frame(ledState.serverFailed, timeMs), all([255, 96, 0]));
		}
	});

	test("connecting flashes once a second", () => {
		for (const [timeMs, isLit] of [
			[0, true],
			[499, true],
			[500, false],
			[999, false],
			[1000, true],
			[3_600_499, true],
		] as const) {
			assert.deepEqual(frame(ledState.wifiConnecting, timeMs), all(isLit ? [255, 0, 0] : [0, 0, 0]));
			assert.deepEqual(frame(ledState.serverConnecting, timeMs), all(isLit ? [255, 96, 0] : [0, 0, 0]));
		}
	});

	test("connected is the whole rainbow and turns once in two seconds", () => {
		const start: Color[] = [
			[255, 0, 0],
			[255, 128, 0],
			[255, 255, 0],
			[128, 255, 0],
			[0, 255, 0],
			[0, 255, 128],
			[0, 255, 255],
			[0, 128, 255],
			[0, 0, 255],
			[128, 0, 255],
			[255, 0, 255],
			[255, 0, 128],
		];
		const near = (actual: Color[], expected: Color[]) => {
			for (const [index, color] of actual.entries())
				for (const [channel, value] of color.entries()) {
					const difference = value - (expected[index]?.[channel] ?? Number.NaN);
					assert.ok(Math.abs(difference) <= 1, `pixel ${index}: ${color} instead of ${expected[index]}`);
				}
		};
		near(frame(ledState.connected, 0), start);
		near(frame(ledState.connected, 500), [...start.slice(-3), ...start.slice(0, -3)]);
		near(frame(ledState.connected, 1000), [...start.slice(-6), ...start.slice(0, -6)]);
		near(frame(ledState.connected, 2000), start);
	});

	test("updating breathes blue, once in three seconds, and is never dark", () => {
		const blue = (timeMs: number) => frame(ledState.updating, timeMs)[0]?.[2] ?? 0;
		assert.deepEqual(frame(ledState.updating, 1500), all([0, 0, 255]));
		assert.equal(blue(0), blue(3000));
		assert.ok(blue(0) > 0 && blue(0) < 10, `${blue(0)}`);
		for (let timeMs = 100; timeMs <= 1500; timeMs += 100)
			assert.ok(blue(timeMs) >= blue(timeMs - 100), `darker at ${timeMs} ms`);
		for (let timeMs = 1600; timeMs <= 3000; timeMs += 100)
			assert.ok(blue(timeMs) <= blue(timeMs - 100), `brighter at ${timeMs} ms`);
	});

	test("brightness is perceived brightness: half of it is a fifth of the light", () => {
		assert.deepEqual(frame(ledState.wifiFailed, 0, 0.5), all([47, 0, 0]));
		assert.deepEqual(frame(ledState.wifiFailed, 0, 1), all([255, 0, 0]));
		assert.deepEqual(frame(ledState.wifiFailed, 0, 0), all([0, 0, 0]));
		assert.deepEqual(frame(ledState.wifiFailed, 0, 0.01), all([1, 0, 0]), "not dark");
		for (let brightness = 0.01; brightness <= 1; brightness += 0.01)
			assert.ok(lightFor(brightness) > lightFor(brightness - 0.01), `not brighter at ${brightness}`);
	});
});

test("presets and states have the names of the interface", () => {
	assert.deepEqual({ ...stateOfPreset }, { rainbow: 5, connecting: 3, failed: 2, idle: 0, updating: 6 });
	assert.deepEqual(
		[...presetOfState],
		["idle", "connecting", "failed", "connecting", "failed", "rainbow", "updating"],
	);
});
