/** Patches made by `npm run release` and applied by a device, with random firmware and random damage. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Patch } from "../../../device/update/patch.js";
import { makePatch } from "../../../scripts/release/patch.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { damagePatch, firmwarePairs, patchDamages } from "../../support/patches.js";
import { runs } from "../../support/property-runs.js";
import { NodeSha256 } from "./rig.js";

interface Given {
	readonly patch: Uint8Array;
	readonly from: Uint8Array;
	readonly to: Uint8Array;
	/** Running firmware; default `from`. */
	readonly running?: Uint8Array;
	readonly chunkBytes?: number;
}

/** Checks that reads of the source and chunks of the result stay within their bounds for any patch. */
function apply({ patch, from, to, running = from, chunkBytes = 4096 }: Given): Buffer {
	const pieces: Buffer[] = [];
	let steps = 0;
	const device = new Patch({
		source: {
			byteLength: running.byteLength,
			read(buffer, offset) {
				assert.ok(offset >= 0 && offset + buffer.byteLength <= running.byteLength, "reads outside");
				buffer.set(running.subarray(offset, offset + buffer.byteLength));
			},
		},
		sha256: NodeSha256,
		from: sha256Of(from),
		to: sha256Of(to),
		onPiece: (piece, total) => {
			pieces.push(Buffer.from(piece));
			assert.ok(piece.byteLength <= 4096 && total > 0, `${piece.byteLength} bytes of ${total}`);
			assert.ok(Buffer.concat(pieces).byteLength <= total, "more than announced");
		},
	});
	const most = 10 + (running.byteLength + to.byteLength) / 2048 + patch.byteLength * 2 + 2 ** 20;
	for (let at = 0; at < patch.byteLength; ) {
		const chunk = patch.subarray(at, at + (at === 0 ? Math.max(chunkBytes, 76) : chunkBytes));
		while (!device.write(chunk)) assert.ok(++steps < most, "no end");
		at += chunk.byteLength;
	}
	device.end();
	return Buffer.concat(pieces);
}

test("makes any firmware from any other, in chunks of any size", () => {
	fc.assert(
		fc.property(firmwarePairs, fc.integer({ min: 1, max: 5000 }), ({ from, to }, chunkBytes) => {
			assertSameBytes(apply({ patch: makePatch(from, to), from, to, chunkBytes }), to);
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
				made = apply({ patch, from, to });
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
	assert.throws(() => apply({ patch, from, to, running }), /the SHA-256 of its result does not match/);
	assert.throws(() => apply({ patch, from: to, to }), /does not match the announced SHA-256/);
});

test("makes a small patch for firmware with few differences, even if its parts have moved", () => {
	const from = Buffer.alloc(200_000);
	for (let at = 0, state = 1; at < from.length; at++) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		from[at] = state >>> 24;
	}
	const to = Buffer.concat([from.subarray(100_000), Buffer.from("new"), from.subarray(0, 100_000)]);
	for (let at = 0; at < to.length; at += 1000) to[at] = (to[at] ?? 0) + 4;
	const patch = makePatch(from, to);
	assert.ok(patch.byteLength < 2_000, `${patch.byteLength} bytes`);
	assertSameBytes(apply({ patch, from, to }), to);
});
