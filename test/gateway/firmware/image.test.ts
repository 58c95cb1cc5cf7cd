import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chips } from "../../../device/protocol/messages.js";
import { ImageError, ImageParser, parseImage } from "../../../gateway/firmware/image.js";
import { sha256Of } from "../../support/bytes.js";
import {
	damaged,
	makeBootLoader,
	makeImage,
	makeMergedFlash,
	rewritten,
	trailingData,
	withoutHash,
} from "../../support/images.js";

/** Text of a descriptor, padded with NUL to `size`. */
function field(text: string, size = 32): string {
	return text.padEnd(size, "\0");
}

/** Sets this version in both descriptors. */
function withVersion(version: string): Buffer {
	return rewritten(rewritten(makeImage(), 0x30, field(version)), 0x138, field(version));
}

describe("valid image", () => {
	test("contains chip, model, versions, framework, length and SHA-256, regardless of trailing data", () => {
		const names = { chip: "esp32s3", model: "DEV-1", version: "1.4.0", idfVersion: "v6.0" };
		for (const image of [makeImage({ securityVersion: 7 }), withoutHash(makeImage({ securityVersion: 7 }))])
			for (const data of [Buffer.alloc(0), ...trailingData()])
				assert.deepEqual(parseImage(Buffer.concat([image, data])), {
					...names,
					imageId: image.toString("hex", 0xb0, 0xb8),
					securityVersion: 7,
					byteLength: image.length,
					sha256: sha256Of(image),
				});
	});
	test("has the same SHA-256 in chunks of any size", () => {
		const image = makeImage();
		const file = Buffer.concat([image, Buffer.alloc(3000, "x")]);
		for (const pieceBytes of [1000, 16_384, image.length, image.length - 32]) {
			const parser = new ImageParser();
			for (let at = 0; at < file.length; at += pieceBytes) parser.write(file.subarray(at, at + pieceBytes));
			const { info } = parser.end();
			assert.ok(!(info instanceof ImageError), `rejected: ${info}`);
			assert.equal(info.sha256, sha256Of(image));
		}
	});
	test("may have each chip and model, a pre-release version and the maximum of segments", () => {
		for (const chip of chips)
			for (const model of ["DEV-1", "PROTO-1"] as const) {
				const info = parseImage(makeImage({ chip, model, version: "2.0.0-rc.1+build.5" }));
				assert.deepEqual([info.chip, info.model, info.version], [chip, model, "2.0.0-rc.1+build.5"]);
			}
		parseImage(makeImage({ segments: Array.from({ length: 15 }, (_, index) => Buffer.alloc(index * 5)) }));
		parseImage(makeImage({ segments: [] }));
		// Unknown flags of the descriptor.
		parseImage(rewritten(makeImage(), 0x158, [0xfe, 0xff, 0xff, 0xff]));
	});
	test("has an unknown id without the SHA-256 of its program", () => {
		const without = rewritten(makeImage(), 0xb0, Buffer.alloc(32).toString("latin1"));
		assert.equal(parseImage(without).imageId, undefined);
	});
	test("ends its padding with the checksum, even in an extra block", () => {
		for (let extra = 0; extra < 20; extra += 4) parseImage(makeImage({ segments: [Buffer.alloc(extra)] }));
	});
});

const image = makeImage();
const short = makeImage({ segments: [] });
const bad: readonly (readonly [image: Buffer, sentence: RegExp])[] = [
	[Buffer.alloc(0), /empty/],
	[Buffer.from("hello"), /starts with 0x68 instead of 0xe9/],
	[Buffer.from("\x7fELF\x01\x01"), /an ELF file/],
	[Buffer.from("PK\x03\x04...."), /a ZIP archive/],
	[Buffer.from([0x1f, 0x8b, 8, 0]), /a gzip file/],
	[Buffer.from("UF2\nWQ]\x9e"), /a UF2 file/],
	[Buffer.from(":10000000"), /an Intel HEX file/],
	[Buffer.from([0xaa, 0x50, 1, 2]), /a partition table/],
	[makeMergedFlash("esp32s3"), /merged flash image.*xs_esp32\.bin/],
	[makeMergedFlash("esp32"), /empty flash memory.*merged flash image/],
	[makeBootLoader(), /is a boot loader, or a merged flash image .*, not an application/],
	[rewritten(image, 12, [5, 0]), /for ESP32-C3\. Supported chips/],
	[rewritten(image, 12, [0x1c, 0]), /for ESP32-H4\./],
	[rewritten(image, 8, [0, 0xf0, 0x10, 0x40, 0xdc, 0x07, 0, 0]), /for ESP8266\./],
	[Buffer.from([0xea, 4, 0, 0x40]), /for ESP8266\./],
	[rewritten(image, 12, [0x34, 0x12]), /a chip with the id 0x1234/],
	[damaged(image, 1, [0]), /has 0 segments/],
	[damaged(image, 1, [17]), /has 17 segments; 1 to 16/],
	[damaged(image, 0x164, [13, 0, 0, 0]), /Segment 2 .* length, 13 bytes/],
	[damaged(image, 0x164, [0, 0, 0, 1]), /length, 16777216 bytes/],
	[image.subarray(0, 30_000), /truncated: the file has 30000 bytes, its segments need 70\d{3}\./],
	[damaged(image, 40_000, [0]), /checksum does not match/],
	[damaged(image, 0x200, [image[0x201] ?? 0, image[0x200] ?? 0]), /SHA-256/],
	[damaged(image, image.length - 1, [0]), /SHA-256 does not match/],
	[Buffer.concat([damaged(image, 40_000, [0]), image]), /checksum/],
	[Buffer.concat([damaged(image, image.length - 1, [0]), image.subarray(-32)]), /SHA-256/],
	[makeImage({ hasSettings: true }), /may be compiled in\. Build it with npm run release/],
	[rewritten(image, 0x158, [0xff, 0xff, 0xff, 0xff]), /may be compiled in/],
	[rewritten(image, 0x20, [0, 0, 0, 0]), /0xabcd5432 at 0x20/],
	[rewritten(image, 0x120, [0]), /model of the image is unknown.*"DAG1" at 0x120/],
	// First segments that are shorter than the descriptors.
	[rewritten(short.subarray(0, 336), 0x1c, [0, 1, 0, 0]), /model of the image is unknown.*"DAG1" at 0x120/],
	[rewritten(short.subarray(0, 80), 0x1c, [0, 0, 0, 0]), /0xabcd5432 at 0x20/],
	[rewritten(image, 0x124, [128]), /"DAG1"/],
	[rewritten(image, 0x128, field("DEV-2", 16)), /model "DEV-2"\. Supported models: DEV-1/],
	[rewritten(image, 0x128, "M".repeat(16)), /model "M{16}"\./],
	[rewritten(image, 0x128, "\x01\x80D"), /model "\?\?D-1"/],
	[rewritten(image, 0x138, field("1.3.9")), /"1\.4\.0" for ESP-IDF and "1\.3\.9"/],
	[withVersion("banana"), /"banana" is not a semantic version/],
	[withVersion("v1.4.0"), /"v1\.4\.0" is not/],
];

describe("image is rejected", () => {
	test("with a reason", () => {
		for (const [bytes, sentence] of bad)
			assert.throws(() => parseImage(bytes), { name: "ImageError", message: sentence });
	});
	test("with any single byte of a small image changed, or truncated at any byte", () => {
		const small = makeImage({ segments: [Buffer.from("the program!")] });
		for (const [at, byte] of small.entries())
			for (const bad of [damaged(small, at, [byte ^ 0x55]), small.subarray(0, at)])
				assert.throws(() => parseImage(bad), { name: "ImageError" }, `at ${at}`);
	});
});
