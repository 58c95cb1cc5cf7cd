import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Digest } from "../../device/host.js";

/** Compares bytes and reports the lengths and the first difference. A diff of large buffers takes minutes. */
export function assertSameBytes(actual: Uint8Array, expected: Uint8Array, what = "bytes"): void {
	if (Buffer.compare(actual, expected) === 0) return;
	const at = expected.findIndex((byte, index) => byte !== actual[index]);
	assert.fail(
		`${what}: got ${actual.length} bytes, expected ${expected.length}; first difference at byte ${at < 0 ? expected.length : at}`,
	);
}

/** @returns SHA-256 in hex */
export function sha256Of(content: Uint8Array | string): string {
	return createHash("sha256").update(content).digest("hex");
}

/** The firmware's SHA-256, by Node. */
export class NodeSha256 implements Digest {
	readonly #hash = createHash("sha256");

	write(bytes: Uint8Array): void {
		this.#hash.update(bytes);
	}

	close(): ArrayBuffer {
		return Uint8Array.from(this.#hash.digest()).buffer;
	}
}
