import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ImageScanner } from "../../../device/protocol/image-scanner.js";
import { makeImage, withoutHash } from "../../gateway/firmware/images.js";
import { randomNumbers } from "../random.js";

/** What is to be known of an image once all bytes of its file were read. */
interface Found {
	readonly problem: string | undefined;
	readonly contentBytes: number | undefined;
	/** Undefined where the file is cut off, or not an image. */
	readonly byteLength: number | undefined;
}

function scan(file: Uint8Array, pieceBytes: () => number): Found {
	const scanner = new ImageScanner({ verifiesChecksum: true });
	let problem: string | undefined;
	for (let at = 0; at < file.length; ) {
		const end = Math.min(file.length, at + pieceBytes());
		problem = scanner.write(file.subarray(at, end));
		at = end;
	}
	const { contentBytes, minimumBytes } = scanner;
	if (problem !== undefined) return { problem, contentBytes, byteLength: undefined };
	const isWhole = file.length >= minimumBytes;
	assert.equal(isWhole && contentBytes === undefined, false);
	return { problem, contentBytes, byteLength: isWhole ? minimumBytes : undefined };
}

/** The same by the words of ESP-IDF's format, over the file as a whole, byte by byte. */
function scanSlowly(file: Buffer): Found {
	const cut: Found = { problem: undefined, contentBytes: undefined, byteLength: undefined };
	if (file.length < 24) return cut;
	const count = file.readUInt8(1);
	if (count === 0 || count > 16)
		return { ...cut, problem: `The image names ${count} segments; 1 to 16 are possible.` };
	let end = 24;
	let checksum = 0xef;
	for (let segment = 1; segment <= count; segment++) {
		if (file.length < end + 8) return cut;
		const length = file.readUInt32LE(end + 4);
		if (length % 4 !== 0 || length >= 2 ** 24)
			return {
				...cut,
				problem: `Segment ${segment} of the image has an impossible length, ${length} bytes.`,
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

/** A file with a segment table that is mostly possible, cut off or followed by other bytes. */
function randomFile(random: (below: number) => number): Buffer {
	const count = random(20) === 0 ? random(256) : 1 + random(5);
	const header = Buffer.alloc(24);
	header.set([0xe9, count]);
	header[23] = random(3);
	const parts = [header];
	let checksum = 0xef;
	for (let segment = 0; segment < Math.min(count, 18); segment++) {
		const data = Buffer.from(Array.from({ length: 4 * random(random(4) === 0 ? 1 : 40) }, () => random(256)));
		for (const byte of data) checksum ^= byte;
		const segmentHeader = Buffer.alloc(8);
		const wrong = [data.length + 1 + random(3), 2 ** 24, 2 ** 31 + 4, 2 ** 32 - 4][random(80)];
		segmentHeader.writeUInt32LE(wrong ?? data.length, 4);
		parts.push(segmentHeader, data);
	}
	const body = Buffer.concat(parts);
	const padding = Buffer.alloc(16 - (body.length % 16));
	padding[padding.length - 1] = random(10) === 0 ? random(256) : checksum;
	const following = Buffer.from(Array.from({ length: random(100) }, () => random(256)));
	const file = Buffer.concat([body, padding, following]);
	return random(3) === 0 ? file.subarray(0, random(file.length)) : file;
}

test("10000 random files are read as by a slow reader, in pieces of any size", () => {
	const random = randomNumbers(7);
	const kinds = new Map<string, number>();
	for (let run = 0; run < 10_000; run++) {
		const file = randomFile(random);
		const expected = scanSlowly(file);
		const most = [1, 5, 40, 1000][random(4)] ?? 1;
		assert.deepEqual(
			scan(file, () => 1 + random(most)),
			expected,
			`run ${run}: ${file.toString("hex")}`,
		);
		const { problem, byteLength = 0 } = expected;
		const kind = problem?.replace(/\d+/g, "n") ?? (byteLength === 0 ? "cut" : "whole");
		kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
	}
	assert.equal(kinds.size, 5, "each outcome was seen");
	for (const [kind, count] of kinds) assert.ok(count > 50, `${kind}: ${count}`);
});

describe("where an image ends", () => {
	const image = makeImage({ segments: [Buffer.alloc(1000), Buffer.alloc(0), Buffer.alloc(500)] });
	/** Behind the descriptors, the first two of these segments and the header of the third. */
	const lastHeaderEnd = 0x160 + (8 + 1000) + 8 + 8;

	test("is known from the header of the last segment on, and estimated from below before", () => {
		const scanner = new ImageScanner();
		let estimate = 0;
		for (let at = 0; at < image.length; at++) {
			assert.ok(scanner.minimumBytes >= estimate && scanner.minimumBytes <= image.length);
			assert.ok(scanner.minimumBytes > at, "a file of what was read is cut off");
			estimate = scanner.minimumBytes;
			assert.equal(scanner.write(image.subarray(at, at + 1)), undefined);
			const expected = at + 1 < lastHeaderEnd ? undefined : image.length - 32;
			assert.equal(scanner.contentBytes, expected, `at ${at}`);
		}
		assert.equal(scanner.minimumBytes, image.length);
		assert.equal(scanner.hasDigest, true);
	});

	test("is right behind the checksum where no SHA-256 follows", () => {
		const scanner = new ImageScanner();
		scanner.write(withoutHash(image));
		assert.equal(scanner.hasDigest, false);
		assert.equal(scanner.contentBytes, image.length - 32);
		assert.equal(scanner.minimumBytes, image.length - 32);
	});

	test("is found without the checksum, which a device leaves to ESP-IDF", () => {
		const wrong = Buffer.from(image);
		wrong[image.length - 33] = (wrong[image.length - 33] ?? 0) ^ 1;
		assert.equal(new ImageScanner().write(wrong), undefined);
		assert.match(new ImageScanner({ verifiesChecksum: true }).write(wrong) ?? "", /checksum/);
	});

	test("does not change by what follows, and a problem stays", () => {
		const scanner = new ImageScanner({ verifiesChecksum: true });
		scanner.write(image);
		for (let time = 0; time < 3; time++) assert.equal(scanner.write(image), undefined);
		assert.equal(scanner.minimumBytes, image.length);
		const broken = new ImageScanner();
		const problem = broken.write(Buffer.alloc(24));
		assert.match(problem ?? "", /names 0 segments/);
		assert.equal(broken.write(image), problem);
	});
});
