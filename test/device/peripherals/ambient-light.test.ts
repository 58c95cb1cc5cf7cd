import assert from "node:assert/strict";
import { test } from "node:test";
import { AmbientLight } from "../../../device/peripherals/ambient-light.js";
import { clock } from "../update/timer.js";

/** A sensor that gives these samples, one after the other, and the last one again and again. */
function lightOf(samples: readonly number[]): AmbientLight {
	const left = [...samples];
	return new AmbientLight({
		part: class {
			readonly resolution = 12;
			read(): number {
				return (left.length > 1 ? left.shift() : left[0]) ?? Number.NaN;
			}
			close(): void {}
		},
	});
}

test("a sample that fails, the first one too, costs nothing but itself", () => {
	const failed = Number.NaN;
	for (const samples of [
		[failed, 1000],
		[1000, failed, failed, 1000],
	]) {
		const light = lightOf(samples);
		assert.ok(Number.isInteger(light.level));
		for (let time = 0; time < 50; time += 1) {
			clock.pass(100);
			assert.ok(Number.isInteger(light.level));
		}
		assert.equal(light.level, 1000);
	}
});
