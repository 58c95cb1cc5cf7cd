/**
 * Independent NVS reader, written from ESP-IDF's documentation alone. It shares no code with the reader under test.
 */

import { crc32 } from "node:zlib";

/** Strings of one namespace. */
export function readStrings(image: Uint8Array, namespace: string): Map<string, string> {
	const partition = Buffer.from(image);
	const pages = Array.from({ length: partition.length / 4096 }, (_, index) =>
		partition.subarray(index * 4096, (index + 1) * 4096),
	)
		.filter((page) => [0xfe, 0xfc, 0xf8].includes(page.readUInt8(0)))
		.filter((page) => page.readUInt32LE(28) === crc32(page.subarray(4, 28), 0xffff_ffff))
		.sort((a, b) => a.readUInt32LE(4) - b.readUInt32LE(4));
	const entries = pages.flatMap((page) => [...entriesOf(page)]);
	const found = entries.find((entry) => entry[0] === 0 && textOf(entry.subarray(8, 24)) === namespace);
	const strings = new Map<string, string>();
	for (const entry of entries) {
		if (!found || entry[0] !== found[24] || entry[1] !== 0x21) continue;
		const data = entry.subarray(32, 32 + entry.readUInt16LE(24));
		if (crc32(data, 0xffff_ffff) === entry.readUInt32LE(28))
			strings.set(textOf(entry.subarray(8, 24)), textOf(data));
	}
	return strings;
}

/** Written entries, each with its span. */
function* entriesOf(page: Buffer): Generator<Buffer> {
	const bits = page.readBigUInt64LE(32) | (page.readBigUInt64LE(40) << 64n);
	const more = page.readBigUInt64LE(48) | (page.readBigUInt64LE(56) << 64n);
	const bitmap = bits | (more << 128n);
	for (let index = 0; index < 126; ) {
		const start = 64 + index * 32;
		const isWritten = ((bitmap >> BigInt(index * 2)) & 3n) === 2n;
		const entry = page.subarray(start, start + 32);
		const covered = Buffer.concat([entry.subarray(0, 4), entry.subarray(8)]);
		const isGood = isWritten && crc32(covered, 0xffff_ffff) === entry.readUInt32LE(4);
		const span = isGood ? entry.readUInt8(2) : 1;
		if (isGood) yield page.subarray(start, start + span * 32);
		index += span;
	}
}

function textOf(bytes: Buffer): string {
	return bytes.toString("utf8", 0, bytes.indexOf(0));
}
