import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { addToChecksum } from "../../../device/protocol/image-scanner.js";

test("the checksum is the exclusive or of all bytes, wherever they begin and however many they are", () => {
	const { buffer } = new Uint8Array(randomBytes(64));
	for (let offset = 0; offset <= 64; offset++)
		for (let length = 0; length <= 64 - offset; length++) {
			const bytes = new Uint8Array(buffer, offset, length);
			const expected = bytes.reduce((sum, byte) => sum ^ byte, 0xef);
			assert.equal(addToChecksum(0xef, bytes), expected, `${length} bytes at ${offset}`);
		}
});

test("a checksum in parts is that of the whole", () => {
	const bytes = randomBytes(1001);
	const parts = addToChecksum(addToChecksum(0xef, bytes.subarray(0, 333)), bytes.subarray(333));
	assert.equal(parts, addToChecksum(0xef, bytes));
});
