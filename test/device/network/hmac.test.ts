import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { hmacSha256 } from "../../../device/network/hmac.js";
import { NodeSha256 } from "../../support/bytes.js";
import { runs } from "../../support/property-runs.js";

test("matches the HMAC-SHA-256 vectors of RFC 4231, 4.3 and 4.7", () => {
	assert.equal(
		hmacSha256(NodeSha256, "Jefe", "what do ya want for nothing?"),
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
	);
	const text = "Test Using Larger Than Block-Size Key - Hash Key First";
	assert.equal(
		hmacSha256(NodeSha256, "\xaa".repeat(131), text),
		"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
	);
});

test("matches Node's HMAC for all tokens, including those as long as a block of SHA-256", () => {
	const ascii = fc.string({ unit: "binary-ascii", maxLength: 200 });
	const token = fc.oneof(ascii, fc.constantFrom("k".repeat(63), "k".repeat(64), "k".repeat(65)));
	fc.assert(
		fc.property(token, ascii, (key, text) => {
			assert.equal(hmacSha256(NodeSha256, key, text), createHmac("sha256", key).update(text).digest("hex"));
		}),
		{ numRuns: runs(1000) },
	);
});
