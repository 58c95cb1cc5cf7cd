/** Random and damaged firmware and patches, and patch application as on a device. */

import { createHash } from "node:crypto";
import fc from "fast-check";
import { Patch } from "../../device/update/patch.js";

/** @param patch 76 bytes or more @returns the new firmware @throws Error with the reason of a failure */
export function applyPatch(patch: Uint8Array, running: Uint8Array, from: string, to: string): Buffer {
	const pieces: Buffer[] = [];
	const device = new Patch({
		source: {
			byteLength: running.byteLength,
			read: (buffer, offset) => buffer.set(running.subarray(offset, offset + buffer.byteLength)),
		},
		sha256: class {
			readonly #hash = createHash("sha256");
			write(bytes: Uint8Array): void {
				this.#hash.update(bytes);
			}
			close(): ArrayBuffer {
				return Uint8Array.from(this.#hash.digest()).buffer;
			}
		},
		from,
		to,
		onPiece: (piece) => void pieces.push(Buffer.from(piece)),
	});
	while (!device.write(patch));
	device.end();
	return Buffer.concat(pieces);
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
