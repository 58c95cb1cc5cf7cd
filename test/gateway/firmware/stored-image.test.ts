import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { StoredImage } from "../../../gateway/firmware/repository.js";
import { temporaryDirectory } from "../../support/cleanup.js";

function sha256(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("base64");
}

async function store(t: TestContext, bytes: Buffer): Promise<StoredImage> {
	const path = join(await temporaryDirectory(t), "image.bin");
	await fs.writeFile(path, bytes);
	return StoredImage.read(fs, path);
}

test("computes the digest of a part at any offset, repeatedly", async (t) => {
	const bytes = randomBytes(90_001);
	const image = await store(t, bytes);
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
			assert.equal(image.digestOf(first, last), expected, `${first} to ${last}`);
		}
});

test("computes no digest of a long part, which would delay others, but of the whole image", async (t) => {
	const bytes = randomBytes(90_001);
	const image = await store(t, bytes);
	assert.equal(image.digestOf(0, 65_536), undefined);
	assert.equal(image.digestOf(1, 90_000), undefined);
	const whole = image.digestOf(0, 90_000);
	assert.equal(whole, sha256(bytes));
});
