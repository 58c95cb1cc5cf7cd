import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { leastRatio } from "../../../gateway/fleet/crash-rates.js";
import "../../support/property-runs.js";

const count = fc.integer({ min: 0, max: 2000 });
const time = fc.integer({ min: 1, max: 100_000 });

test("the bound is below the ratio of the rates, and grows with more of the same", () => {
	fc.assert(
		fc.property(count, time, count, time, (a, hours, b, otherHours) => {
			const one = { count: a, time: hours };
			const other = { count: b, time: otherHours };
			const least = leastRatio(one, other);
			const seen = a === 0 ? 0 : a / hours / (b / otherHours);
			assert.ok(least >= 0 && least <= seen * (1 + 1e-9), `${least} of ${seen}`);
			const more = leastRatio({ count: 4 * a, time: 4 * hours }, { count: 4 * b, time: 4 * otherHours });
			assert.ok(more >= least * (1 - 1e-9), `${more} of four times as much, ${least}`);
		}),
	);
});

test("the bound does not depend on the unit of time", () => {
	fc.assert(
		fc.property(count, time, count, time, (a, hours, b, otherHours) => {
			const inHours = leastRatio({ count: a, time: hours }, { count: b, time: otherHours });
			const inSeconds = leastRatio({ count: a, time: 3600 * hours }, { count: b, time: 3600 * otherHours });
			assert.ok(
				Math.abs(inHours - inSeconds) <= 1e-9 * Math.max(1, inHours),
				`${inHours} in hours, ${inSeconds} in seconds`,
			);
		}),
	);
});

test("the bound is exact: for the share 0.001 ** (1 / count) where the other version has no crash", () => {
	for (const crashes of [1, 2, 5, 40]) {
		const share = 0.001 ** (1 / crashes);
		const least = leastRatio({ count: crashes, time: 10 }, { count: 0, time: 30 });
		assert.ok(
			Math.abs(least - (3 * share) / (1 - share)) < 1e-6 * Math.max(1, least),
			`${crashes}: ${least}`,
		);
	}
	assert.equal(leastRatio({ count: 0, time: 10 }, { count: 5, time: 10 }), 0);
	assert.equal(leastRatio({ count: 5, time: 0 }, { count: 5, time: 10 }), 0);
	assert.equal(leastRatio({ count: 5, time: 10 }, { count: 0, time: 0 }), 0);
});
