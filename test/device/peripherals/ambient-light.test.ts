/** Ambient light filter in V8, over every raw value. proto-1.test.ts and soak.long.test.ts run it in XS. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AmbientLight } from "../../../device/peripherals/ambient-light.js";
import { clock } from "../update/timer.js";

/** Light sensor whose converter returns `raw`; undefined is what the SDK's driver returns on failure. */
class Sensor {
	sample: number | undefined;
	readonly #light: AmbientLight;

	constructor(first: number | undefined, resolution = 12) {
		this.sample = first;
		const sensor = this;
		this.#light = new AmbientLight({
			part: class {
				readonly resolution = resolution;
				read(): number | undefined {
					return sensor.sample;
				}
				close(): void {}
			},
		});
	}

	get level(): number {
		return this.#light.level;
	}

	get fault(): string | undefined {
		return this.#light.fault;
	}

	/** @returns the level after `count` samples of this value */
	after(samples: number, sample: number | undefined): number {
		this.sample = sample;
		clock.pass(samples * 100);
		return this.level;
	}
}

test("reaches every raw value exactly, from above and below, without drift", (t) => {
	t.after(clock.clear);
	const rising = new Sensor(0);
	const falling = new Sensor(4095);
	for (let value = 0; value <= 4095; value++) {
		assert.equal(rising.after(20, value), value);
		assert.equal(falling.after(20, 4095 - value), 4095 - value);
	}
	assert.equal(rising.after(10_000, 4095), 4095);
	assert.equal(falling.after(10_000, 0), 0);
	const steps = new Sensor(0);
	for (const value of [4095, 0, 1, 4095, 4094, 2, 3, 0]) assert.equal(steps.after(50, value), value);
});

test("ignores a failed sample", (t) => {
	t.after(clock.clear);
	for (const failed of [undefined, Number.NaN]) {
		const light = new Sensor(failed);
		assert.equal(light.level, 0);
		assert.equal(light.after(1, 1000), 1000, "the first sample is the level");
		assert.equal(light.after(1000, failed), 1000);
		assert.equal(light.after(1, 2000), 1250, "a quarter of the step");
	}
});

test("clamps a sample that is out of range", (t) => {
	t.after(clock.clear);
	const light = new Sensor(2000);
	for (const [sample, level] of [
		[5000, 4095],
		[-1, 0],
		[Number.POSITIVE_INFINITY, 4095],
		[Number.NEGATIVE_INFINITY, 0],
		[Number.MIN_VALUE, 0],
	] as const) {
		for (let count = 0; count < 50; count++)
			assert.ok(Number.isInteger(light.after(1, sample)), `sample ${sample} gave ${light.level}`);
		assert.equal(light.level, level, `${sample}`);
	}
});

test("reports a fault after ten minutes without a sample above 0, until there is one", (t) => {
	t.after(clock.clear);
	const minute = 600;
	for (const dark of [0, undefined]) {
		const light = new Sensor(dark);
		light.after(10 * minute - 2, dark);
		assert.equal(light.fault, undefined);
		light.after(1, dark);
		assert.match(light.fault ?? "", /^The light sensor has measured nothing since the start/);
		light.after(1, 1);
		assert.equal(light.fault, undefined);
		light.after(20 * minute, dark);
		assert.equal(light.fault, undefined, "darkness after light is no fault");
	}
	const lit = new Sensor(1);
	lit.after(20 * minute, 0);
	assert.equal(lit.fault, undefined);
});

test("scales other resolutions to 12 bits", (t) => {
	t.after(clock.clear);
	for (const [resolution, sample, level] of [
		[13, 8191, 4095],
		[13, 4096, 2048],
		[10, 1023, 4095],
		[10, 0, 0],
	] as const)
		assert.equal(new Sensor(sample, resolution).level, level);
});
