import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { partDigests } from "../../../gateway/firmware/part-digests.js";

test("the digest of a part is the part's, at whatever place and whichever time it is asked for", () => {
	const bytes = randomBytes(50_001);
	const digestOf = partDigests(bytes);
	const spans = [
		[0, 16_383],
		[16_384, 32_767],
		[0, 4095],
		[5, 5],
		[49_152, 50_000],
		[0, 50_000],
	] as const;
	for (let time = 0; time < 2; time++)
		for (const [first, last] of spans) {
			const expected = createHash("sha256")
				.update(bytes.subarray(first, last + 1))
				.digest("hex");
			assert.equal(digestOf(first, last).toString("hex"), expected, `${first} to ${last}`);
		}
});
