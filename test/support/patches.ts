/** Random and damaged firmware and patches, and patch application as on a device. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { Patch } from "../../device/update/patch.js";
import { NodeSha256 } from "./bytes.js";

export interface PatchUse {
	readonly patch: Uint8Array;
	readonly running: Uint8Array;
	/** SHA-256 in hex of the source and the result. */
	readonly from: string;
	readonly to: string;
	/** Length of the pieces in which the patch arrives. */
	readonly pieceBytes?: number;
}

/**
 * Applies a patch like a device. Checks that any patch reads only the running firmware, produces pieces of at most 4 KiB
 * and no more than it announces, and ends.
 * @returns the new firmware @throws Error with the reason of a failure
 */
export function applyPatch({ patch, running, from, to, pieceBytes = 4096 }: PatchUse): Buffer {
	const made: Buffer[] = [];
	let madeBytes = 0;
	const device = new Patch({
		source: {
			byteLength: running.byteLength,
			read(buffer, offset) {
				assert.ok(offset >= 0 && offset + buffer.byteLength <= running.byteLength, "reads outside");
				buffer.set(running.subarray(offset, offset + buffer.byteLength));
			},
		},
		sha256: NodeSha256,
		from,
		to,
		onPiece: (piece, total) => {
			made.push(Buffer.from(piece));
			madeBytes += piece.byteLength;
			assert.ok(piece.byteLength <= 4096, `${piece.byteLength} bytes at once`);
			assert.ok(madeBytes <= total, `${madeBytes} of ${total} bytes`);
		},
	});
	const maxSteps = running.byteLength + patch.byteLength * 2 + 2 ** 20;
	let steps = 0;
	for (let at = 0; at < patch.byteLength; ) {
		// The first piece includes the whole header.
		const piece = patch.subarray(at, at + (at === 0 ? Math.max(pieceBytes, 76) : pieceBytes));
		while (!device.write(piece)) assert.ok(++steps < maxSteps, "no end");
		at += piece.byteLength;
	}
	device.end();
	return Buffer.concat(made);
}

/** Recurring parts, so that patches find matches. */
const part = fc.oneof(
	fc.uint8Array({ maxLength: 60 }),
	fc
		.tuple(fc.nat(255), fc.integer({ min: 1, max: 5000 }))
		.map(([byte, count]) => new Uint8Array(count).fill(byte)),
);
/** Pairs of firmware and its successor. */
export const firmwarePairs = fc
	.tuple(
		fc.array(part, { minLength: 1, maxLength: 8 }),
		fc.array(fc.nat(9), { maxLength: 12 }),
		fc.uint8Array({ maxLength: 40 }),
		fc.nat(255),
	)
	.map(([parts, order, extra, change]) => ({
		from: Buffer.concat(parts),
		to: Buffer.concat([
			...order.map((nth) => (parts[nth] ?? extra).map((byte, at) => (at % 97 === 5 ? byte + change : byte))),
			extra,
			Uint8Array.of(change),
		]),
	}));

export const patchDamages = fc.array(
	fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }), cut: fc.boolean() }),
	{ minLength: 1, maxLength: 4 },
);

/** Changes bytes of the patch in place, or truncates it. */
export function damagePatch(
	patch: Uint8Array,
	damages: readonly { readonly at: number; readonly by: number; readonly cut: boolean }[],
): Uint8Array {
	let damaged = patch;
	for (const { at, by, cut } of damages) {
		const place = at % damaged.byteLength;
		if (cut && place > 0) damaged = damaged.subarray(0, place);
		else damaged[place] = (damaged[place] ?? 0) ^ by;
	}
	return damaged;
}
