/** Applies a patch as a device does. */

import { createHash } from "node:crypto";
import { Patch } from "../../device/update/patch.js";

/** @param patch 76 bytes or more @returns what it makes of `running` @throws Error that says why it cannot */
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
