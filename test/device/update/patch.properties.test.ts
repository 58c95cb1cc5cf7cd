/** Patches made by `npm run release` and applied by a device, with random firmware and random damage. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makePatch } from "../../../scripts/release/patch.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { applyPatch, damagePatch, firmwarePairs, patchDamages } from "../../support/patches.js";
import { runs } from "../../support/property-runs.js";
import { noise } from "../../support/sounds.js";

/** @param running default: `from` */
function apply(patch: Uint8Array, from: Uint8Array, to: Uint8Array, running = from, pieceBytes?: number) {
	return applyPatch({
		patch,
		running,
		from: sha256Of(from),
		to: sha256Of(to),
		...(pieceBytes && { pieceBytes }),
	});
}

test("makes any firmware from any other, in chunks of any size", () => {
	fc.assert(
		fc.property(firmwarePairs, fc.integer({ min: 1, max: 5000 }), ({ from, to }, pieceBytes) => {
			assertSameBytes(apply(makePatch(from, to), from, to, from, pieceBytes), to);
		}),
		{ numRuns: runs(300) },
	);
});

test("rejects a damaged or truncated patch, or makes the right firmware", () => {
	let rejected = 0;
	fc.assert(
		fc.property(firmwarePairs, patchDamages, ({ from, to }, damages) => {
			const patch = damagePatch(makePatch(from, to), damages);
			let made: Buffer;
			try {
				made = apply(patch, from, to);
			} catch (error) {
				assert.match(String(error), /^Error: (The patch |The file is not a patch)/);
				rejected += 1;
				return;
			}
			assertSameBytes(made, to);
		}),
		{ numRuns: runs(500) },
	);
	assert.notEqual(rejected, 0);
});

test("makes nothing from a patch for other firmware than the running one", () => {
	const from = Buffer.alloc(10_000, "one");
	const to = Buffer.concat([Buffer.from("two"), from]);
	const running = Buffer.from(from);
	running[9_990] = 0;
	const patch = makePatch(from, to);
	assert.throws(() => apply(patch, from, to, running), /the SHA-256 of its result does not match/);
	assert.throws(() => apply(patch, to, to), /does not match the announced SHA-256/);
});

test("makes a small patch for firmware with few differences, even if its parts have moved", () => {
	const from = noise(200_000);
	const to = Buffer.concat([from.subarray(100_000), Buffer.from("new"), from.subarray(0, 100_000)]);
	for (let at = 0; at < to.length; at += 1000) to[at] = (to[at] ?? 0) + 4;
	const patch = makePatch(from, to);
	assert.ok(patch.byteLength < 2_000, `${patch.byteLength} bytes`);
	assertSameBytes(apply(patch, from, to), to);
});
