/** Bytes, by functions in C: a board's drivers do not go through JavaScript for each byte either. */

import { copyBytes, latin1 } from "virtual/natives";

/** @throws RangeError where `source` does not fit into `target` from `offset` on */
export function copyInto(target: Uint8Array, offset: number, source: Uint8Array): void {
	if (source.byteLength > target.byteLength - offset) throw new RangeError("too many bytes");
	copyBytes(
		memoryOf(target),
		target.byteOffset + offset,
		memoryOf(source),
		source.byteOffset,
		source.byteLength,
	);
}

/** One character a byte, whatever the bytes are. */
export function textOf(bytes: Uint8Array): string {
	return latin1(memoryOf(bytes), bytes.byteOffset, bytes.byteLength);
}

/** @throws TypeError for shared memory */
export function memoryOf({ buffer }: Uint8Array): ArrayBuffer {
	if (!(buffer instanceof ArrayBuffer)) throw new TypeError("shared memory cannot be used");
	return buffer;
}
