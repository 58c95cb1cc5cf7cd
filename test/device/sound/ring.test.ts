import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Ring } from "../../../device/sound/ring.js";
import { runs } from "../../support/property-runs.js";

const byteLength = 16;

/** Bytes that differ from their neighbors by position. */
const byteAt = (position: number) => (position * 7) & 0xff;

/** Rounds down to whole samples. */
const position = fc.nat({ max: 30 }).map((samples) => samples * 2);

const step = fc.oneof(
	fc.record({ do: fc.constant("add" as const), count: fc.nat({ max: 20 }) }),
	fc.record({ do: fc.constant("take" as const), count: fc.nat({ max: 20 }) }),
	fc.record({ do: fc.constant("release" as const), count: position }),
	fc.record({ do: fc.constant("rewind" as const), count: position }),
	fc.record({ do: fc.constant("clear" as const), count: fc.constant(0) }),
);

test("returns bytes in order, repeats them after a rewind and overwrites none before their release", () => {
	fc.assert(
		fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
			const ring = new Ring(byteLength);
			let [added, taken, released] = [0, 0, 0];
			for (const { do: what, count } of steps) {
				switch (what) {
					case "add": {
						const space = ring.reserve(count);
						for (let index = 0; index < space.length; index++) space[index] = byteAt(added + index);
						ring.add(space.length);
						added += space.length;
						break;
					}
					case "take": {
						const bytes = ring.consume(count);
						assert.equal(bytes.length % 2, 0, "whole samples");
						assert.ok(bytes.length <= count, `returned ${bytes.length} bytes, requested ${count}`);
						assert.ok(
							bytes.length > 0 || count < 2 || added - taken < 2,
							`returned none of ${added - taken} bytes`,
						);
						const expected = Array.from(bytes, (_, index) => byteAt(taken + index));
						assert.deepEqual([...bytes], expected);
						taken += bytes.length;
						break;
					}
					case "release":
						ring.release(count);
						released = Math.max(released, Math.min(count, taken));
						break;
					case "rewind":
						ring.rewind(count);
						taken = Math.max(released, Math.min(count, taken));
						break;
					case "clear":
						ring.clear();
						[added, taken, released] = [0, 0, 0];
				}
				assert.deepEqual(
					[ring.available, ring.consumed, ring.free],
					[added - taken, taken, byteLength - (added - released)],
				);
				assert.ok(ring.free >= 0, `${ring.free} bytes free`);
			}
		}),
		{ numRuns: runs(5000) },
	);
});
