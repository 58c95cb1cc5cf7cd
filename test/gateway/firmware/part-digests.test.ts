import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { partDigests } from "../../../gateway/firmware/part-digests.js";

function sha256(bytes: Uint8Array): Buffer {
	return createHash("sha256").update(bytes).digest();
}

test("the digest of a part is the part's, at whatever place and whichever time it is asked for", () => {
	const bytes = randomBytes(90_001);
	const digestOf = partDigests(bytes, sha256(bytes));
	const spans = [
		[0, 16_383],
		[16_384, 32_767],
		[0, 4095],
		[5, 5],
		[1, 65_536],
		[81_920, 90_000],
		[0, 90_000],
	] as const;
	for (let time = 0; time < 2; time++)
		for (const [first, last] of spans) {
			const expected = sha256(bytes.subarray(first, last + 1));
			assert.deepEqual(digestOf(first, last), expected, `${first} to ${last}`);
		}
});

test("a long part has none, or whoever asks for many would hold up everybody else; the whole has", () => {
	const bytes = randomBytes(90_001);
	const whole = sha256(bytes);
	const digestOf = partDigests(bytes, whole);
	assert.equal(digestOf(0, 65_536), undefined);
	assert.equal(digestOf(1, 90_000), undefined);
	// Not made anew.
	assert.equal(digestOf(0, 90_000), whole);
});
