/**
 * Firmware images in every check: the gateway's upload check, the device's check during the download, and the boot
 * loader.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ImageScanner } from "../../../device/protocol/image-scanner.js";
import { chips } from "../../../device/protocol/messages.js";
import { models } from "../../../device/protocol/schema.js";
import { ImageCheck } from "../../../device/update/image-check.js";
import { ImageError, type ImageInfo, parseImage } from "../../../gateway/firmware/image.js";
import { encodeImage } from "../../../hosts/virtual/node/boot/encode-image.js";
import { Flash } from "../../../hosts/virtual/node/boot/flash.js";
import { verifyImage } from "../../../hosts/virtual/node/boot/image.js";
import { chunkSizes, damaged, inChunks } from "../../support/arbitraries.js";
import { assertSameBytes, sha256Of } from "../../support/bytes.js";
import { hashAppendedOffset, rewritten, withoutHash } from "../../support/images.js";
import { runs } from "../../support/property-runs.js";

const number = fc.nat(99).map(String);
const version = fc
	.tuple(fc.tuple(number, number, number), fc.constantFrom("", "-rc.1", "-alpha", "+build.5", "-0.a+b"))
	.map(([numbers, suffix]) => numbers.join(".") + suffix);
const content = fc.record({
	chip: fc.constantFrom(...chips),
	model: fc.constantFrom(...models),
	version,
	project: fc.constant("p"),
	idfVersion: fc.stringMatching(/^[ -~]{0,31}$/),
	buildTime: fc.nat(),
	segments: fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 15 }),
});
const small = content.map((image) => encodeImage({ ...image, segments: image.segments.slice(0, 3) }));
const behind = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 200 }));

function gatewayVerdict(file: Uint8Array): ImageInfo | ImageError {
	try {
		return parseImage(Buffer.from(file));
	} catch (error) {
		if (error instanceof ImageError) return error;
		throw error;
	}
}

/**
 * @returns undefined, or the reason why the device aborts its update; the first chunk is as long as the head, as
 * Download's is
 */
function deviceProblem(
	file: Uint8Array,
	device: Pick<ImageInfo, "chip" | "model">,
	sizes: readonly number[],
): string | undefined {
	const check = new ImageCheck({ ...device, securityVersion: 0 });
	try {
		const head = file.subarray(0, 4096);
		check.write(head, file.length);
		for (const piece of inChunks(file.subarray(4096), sizes)) check.write(piece, file.length);
		return undefined;
	} catch (error) {
		assert.ok(error instanceof Error && /^(The|What|Segment) .+\.$/.test(error.message), String(error));
		return error.message;
	}
}

/** @returns undefined, or the reason why the boot loader does not start the image */
function bootProblem(file: Uint8Array): string | undefined {
	const slot = { offset: 0, byteLength: 0x10000 };
	const flash = new Flash({ byteLength: slot.byteLength });
	flash.load(0, Buffer.from(file));
	try {
		assertSameBytes(
			Buffer.from(file).subarray(0, verifyImage(flash, slot).bytes.length),
			verifyImage(flash, slot).bytes,
		);
		return undefined;
	} catch (error) {
		assert.ok(error instanceof Error && error.name === "Error", String(error));
		return error.message;
	}
}

test("every check accepts a complete image, in chunks of any size and with any trailing data", () => {
	fc.assert(
		fc.property(content, behind, chunkSizes, fc.boolean(), (imageContent, rest, sizes, hasDigest) => {
			const image = encodeImage(imageContent);
			const file = Buffer.concat([hasDigest ? image : withoutHash(image), rest]);
			const { chip, model, version, idfVersion } = imageContent;
			const byteLength = file.length - rest.length;
			const sha256 = sha256Of(file.subarray(0, byteLength));
			const imageId = file.toString("hex", 0xb0, 0xb8);
			const described = { chip, model, version, idfVersion, imageId, securityVersion: 0, byteLength, sha256 };
			assert.deepEqual(gatewayVerdict(file), described);
			assert.equal(deviceProblem(file, imageContent, sizes), undefined);
			assert.equal(bootProblem(file), chip === "virtual" ? undefined : "image for another chip");
			for (const other of models)
				if (other !== model)
					assert.match(deviceProblem(file, { chip, model: other }, sizes) ?? "", /^The firmware is for a/);
		}),
		{ numRuns: runs(200) },
	);
});

test("the gateway rejects a damaged or truncated image, and it does not start", () => {
	const broken = small
		.chain((image) =>
			fc.oneof(
				damaged(image),
				fc
					.nat(image.length - 1)
					// Truncated bytes may equal erased flash, such as the last byte of a digest.
					.filter((end) => image.subarray(end).some((byte) => byte !== 0xff))
					.map((end) => image.subarray(0, end)),
			),
		)
		.filter((file) => file[hashAppendedOffset] !== 0);
	fc.assert(
		fc.property(broken, (file) => {
			assert.ok(gatewayVerdict(file) instanceof ImageError, "the gateway accepts a damaged image");
			assert.notEqual(bootProblem(file), undefined);
		}),
		{ numRuns: runs(500) },
	);
});

test("the device accepts the images that the gateway accepts; others are rejected with a message", () => {
	const headBytes = fc.array(fc.tuple(fc.nat(0x15f), fc.integer({ min: 0, max: 255 })), {
		minLength: 1,
		maxLength: 3,
	});
	const altered = fc.tuple(small, headBytes).map(([image, changes]) =>
		// The segment table is unchanged: the digest could not be recomputed without it.
		changes.reduce(
			(file, [at, byte]) =>
				at === 1 || (at >= 24 && at < 32) || at === hashAppendedOffset ? file : rewritten(file, at, [byte]),
			image,
		),
	);
	const file = fc.oneof(
		altered,
		small.chain((image) => damaged(image)),
		fc.uint8Array({ maxLength: 600 }),
		fc.uint8Array({ maxLength: 400 }).map((bytes) => Uint8Array.from([0xe9, 1, ...bytes])),
	);
	fc.assert(
		fc.property(file, chunkSizes, (bytes, sizes) => {
			const verdict = gatewayVerdict(bytes);
			for (const chip of chips)
				for (const model of models) {
					const problem = deviceProblem(bytes, { chip, model }, sizes);
					if (verdict instanceof ImageError) continue;
					assert.equal(problem === undefined, chip === verdict.chip && model === verdict.model, problem);
				}
			if (verdict instanceof ImageError) assert.match(verdict.message, /^[TSt].+\.$/s);
			else if (verdict.chip === "virtual") assert.equal(bootProblem(bytes), undefined);
		}),
		{ numRuns: runs(500) },
	);
});

/** Properties of an image after all bytes of its file were read. */
interface Found {
	readonly problem: string | undefined;
	readonly contentBytes: number | undefined;
	/** undefined: the file is truncated or not an image. */
	readonly byteLength: number | undefined;
}

function scan(file: Uint8Array, sizes: readonly number[]): Found {
	const scanner = new ImageScanner({ verifiesChecksum: true });
	let problem: string | undefined;
	const estimates: number[] = [];
	for (const piece of inChunks(file, sizes)) {
		problem = scanner.write(piece);
		estimates.push(scanner.minimumBytes);
	}
	const sorted = [...estimates].sort((a, b) => a - b);
	assert.deepEqual(estimates, sorted, "lower bounds");
	const { contentBytes, minimumBytes } = scanner;
	if (problem !== undefined) return { problem, contentBytes, byteLength: undefined };
	const isWhole = file.length >= minimumBytes;
	if (isWhole) assert.notEqual(contentBytes, undefined);
	return { problem, contentBytes, byteLength: isWhole ? minimumBytes : undefined };
}

/** Reference implementation of ESP-IDF's format, over the whole file, byte by byte. */
function scanSlowly(file: Buffer): Found {
	const cut: Found = { problem: undefined, contentBytes: undefined, byteLength: undefined };
	if (file.length < 24) return cut;
	const count = file.readUInt8(1);
	if (count === 0 || count > 16)
		return { ...cut, problem: `The image has ${count} segments; 1 to 16 are allowed.` };
	let end = 24;
	let checksum = 0xef;
	for (let segment = 1; segment <= count; segment++) {
		if (file.length < end + 8) return cut;
		const length = file.readUInt32LE(end + 4);
		if (length % 4 !== 0 || length >= 2 ** 24)
			return {
				...cut,
				problem: `Segment ${segment} of the image has an invalid length, ${length} bytes.`,
			};
		end += 8;
		for (const byte of file.subarray(end, end + length)) checksum ^= byte;
		end += length;
		if (file.length < end && segment < count) return cut;
	}
	const contentBytes = (Math.floor(end / 16) + 1) * 16;
	if (file.length < contentBytes) return { ...cut, contentBytes };
	if (file[contentBytes - 1] !== checksum)
		return {
			problem: "The image is damaged: its checksum does not match its content.",
			contentBytes,
			byteLength: undefined,
		};
	const byteLength = contentBytes + (file[23] ? 32 : 0);
	return { problem: undefined, contentBytes, byteLength: file.length < byteLength ? undefined : byteLength };
}

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
	fc.oneof({ weight: 15, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** File with a mostly valid segment table, truncated or followed by other bytes. */
const tableFile = fc
	.record({
		count: seldom(fc.integer({ min: 0, max: 255 })),
		hasDigest: fc.nat(2),
		segments: fc.array(
			fc.record({
				data: fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.subarray(0, bytes.length & ~3)),
				wrong: seldom(fc.constantFrom(1, 6, 2 ** 24, 2 ** 31 + 4, 2 ** 32 - 4)),
			}),
			{ minLength: 1, maxLength: 6 },
		),
		checksumBits: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(255) }),
		rest: fc.uint8Array({ maxLength: 100 }),
		share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
	})
	.map(({ count, hasDigest, segments, checksumBits, rest, share }) => {
		const header = Buffer.alloc(24);
		header.set([0xe9, count ?? segments.length]);
		header[23] = hasDigest;
		const parts = segments.flatMap(({ data, wrong }) => {
			const segmentHeader = Buffer.alloc(8);
			segmentHeader.writeUInt32LE(wrong ?? data.length, 4);
			return [segmentHeader, data];
		});
		const body = Buffer.concat([header, ...parts]);
		const padding = Buffer.alloc(16 - (body.length % 16));
		let checksum = 0xef;
		for (const { data } of segments) for (const byte of data) checksum ^= byte;
		padding[padding.length - 1] = checksum ^ checksumBits;
		const file = Buffer.concat([body, padding, rest]);
		return file.subarray(0, Math.floor(share * file.length));
	});

test("the scanner finds the same segments, checksum and end as the reference, in chunks of any size", () => {
	const kinds = new Set<string>();
	fc.assert(
		fc.property(tableFile, chunkSizes, (file, sizes) => {
			const expected = scanSlowly(file);
			assert.deepEqual(scan(file, sizes), expected);
			kinds.add(
				expected.problem?.replace(/\d+/g, "n") ?? (expected.byteLength === undefined ? "cut" : "whole"),
			);
		}),
		// Enough runs for the rare outcomes; takes a third of a second.
		{ numRuns: 2000 },
	);
	assert.equal(kinds.size, 5, "missed an outcome");
});
