import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { StoredImage } from "../../../gateway/firmware/repository.js";
import { temporaryDirectory } from "../../support/cleanup.js";

test("computes the digest of a part at any offset, repeatedly, except of a long one, which would delay others", async (t) => {
	const bytes = randomBytes(90_001);
	const path = join(await temporaryDirectory(t), "image.bin");
	await fs.writeFile(path, bytes);
	const image = await StoredImage.read(fs, path);
	const digestOf = (first: number, last: number) =>
		createHash("sha256")
			.update(bytes.subarray(first, last + 1))
			.digest("base64");
	for (let time = 0; time < 2; time++)
		for (const [first, last] of [
			[0, 16_383],
			[16_384, 32_767],
			[0, 4095],
			[5, 5],
			[1, 65_536],
			[81_920, 90_000],
			[0, 90_000],
		] as const)
			assert.equal(image.digestOf(first, last), digestOf(first, last), `${first} to ${last}`);
	for (const [first, last] of [
		[0, 65_536],
		[1, 90_000],
	] as const)
		assert.equal(image.digestOf(first, last), undefined);
});
