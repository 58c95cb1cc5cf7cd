import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ImageScanner } from "../../../device/protocol/image-scanner.js";
import { makeImage, withoutHash } from "../../support/images.js";

describe("end of an image", () => {
	const image = makeImage({ segments: [Buffer.alloc(1000), Buffer.alloc(0), Buffer.alloc(500)] });
	/** Position after the descriptors, the first two of these segments and the header of the third. */
	const lastHeaderEnd = 0x160 + (8 + 1000) + 8 + 8;

	test("is known from the header of the last segment on; before that, a lower bound is", () => {
		const scanner = new ImageScanner();
		let estimate = 0;
		for (let at = 0; at < image.length; at++) {
			assert.ok(
				scanner.minimumBytes >= estimate && scanner.minimumBytes <= image.length,
				`estimate of ${scanner.minimumBytes} bytes at byte ${at}, after ${estimate}`,
			);
			assert.ok(scanner.minimumBytes > at, "a file of the bytes read so far is truncated");
			estimate = scanner.minimumBytes;
			assert.equal(scanner.write(image.subarray(at, at + 1)), undefined);
			const expected = at + 1 < lastHeaderEnd ? undefined : image.length - 32;
			assert.equal(scanner.contentBytes, expected, `at ${at}`);
		}
		assert.equal(scanner.minimumBytes, image.length);
		assert.equal(scanner.hasDigest, true);
	});

	test("follows the checksum if there is no SHA-256", () => {
		const scanner = new ImageScanner();
		scanner.write(withoutHash(image));
		assert.equal(scanner.hasDigest, false);
		assert.equal(scanner.contentBytes, image.length - 32);
		assert.equal(scanner.minimumBytes, image.length - 32);
	});

	test("is found without verifying the checksum, which a device leaves to ESP-IDF", () => {
		const wrong = Buffer.from(image);
		wrong[image.length - 33] = (wrong[image.length - 33] ?? 0) ^ 1;
		assert.equal(new ImageScanner().write(wrong), undefined);
		assert.match(new ImageScanner({ verifiesChecksum: true }).write(wrong) ?? "", /checksum/);
	});

	test("does not depend on trailing data, and a problem persists", () => {
		const scanner = new ImageScanner({ verifiesChecksum: true });
		scanner.write(image);
		for (let time = 0; time < 3; time++) assert.equal(scanner.write(image), undefined);
		assert.equal(scanner.minimumBytes, image.length);
		const broken = new ImageScanner();
		const problem = broken.write(Buffer.alloc(24));
		assert.match(problem ?? "", /has 0 segments/);
		assert.equal(broken.write(image), problem);
	});
});
