import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { patchOperations } from "../../../device/protocol/patch-format.js";
import { PatchDecoder } from "../../../device/update/patch-decoder.js";
import { runs } from "../../support/property-runs.js";

interface Case {
	readonly source: Uint8Array;
	readonly resultBytes: number;
	readonly stream: Uint8Array;
	/** Length of the pieces in which the stream arrives. */
	readonly partBytes: number;
}

/** Decodes a stream, and checks that only the source is read. @returns the problem with the patch; empty: none */
function decode({ source, resultBytes, stream, partBytes }: Case): string {
	const decoder = new PatchDecoder({
		source: {
			read(buffer, offset) {
				assert.ok(buffer.byteLength > 0 && offset + buffer.byteLength <= source.byteLength, "reads outside");
				buffer.set(source.subarray(offset, offset + buffer.byteLength));
			},
		},
		sourceBytes: source.byteLength,
		resultBytes,
	});
	let left = resultBytes;
	let piece = new Uint8Array(Math.min(left, 4096));
	try {
		for (let at = 0; at < stream.byteLength; at += partBytes)
			for (let offset = 0; ; ) {
				offset = decoder.decode(piece, stream.subarray(at, at + partBytes), offset);
				if (offset < 0 || left === 0) break;
				left -= piece.byteLength;
				piece = new Uint8Array(Math.min(left, 4096));
			}
	} catch (error) {
		const [, problem] =
			/^The patch is damaged: (.*)\.$/.exec(error instanceof Error ? error.message : "") ?? [];
		if (problem === undefined) throw error;
		return problem;
	}
	return "";
}

function operation(kind: keyof typeof patchOperations, count: number, bytes: Uint8Array = Buffer.alloc(0)) {
	const number: number[] = [];
	let rest = count * 4 + patchOperations[kind];
	for (; rest > 127; rest >>>= 7) number.push((rest & 127) | 128);
	return Buffer.from([...number, rest, ...bytes]);
}

/** Encodes operations as a stream without a match. */
function literally(...operations: readonly Uint8Array[]): Buffer {
	const bytes = Buffer.concat(operations);
	const items = Array.from({ length: Math.ceil(bytes.length / 8) }, (_, index) => [
		0,
		...bytes.subarray(index * 8, index * 8 + 8),
	]);
	return Buffer.from(items.flat());
}

test("reads only the source, whatever the operations", () => {
	const count = fc.oneof(fc.nat(40), fc.nat(6000), fc.nat(2 ** 26 - 1));
	const operations = fc
		.array(
			fc
				.tuple(fc.constantFrom("copy", "add", "insert", "seek"), count, fc.uint8Array({ maxLength: 40 }))
				.map(([kind, count, bytes]) =>
					kind === "add" || kind === "insert"
						? operation(kind, Math.min(count, bytes.byteLength), bytes)
						: operation(kind, count),
				),
		)
		.map((all) => literally(...all));
	const random = fc.record({
		source: fc.uint8Array({ maxLength: 9000 }),
		resultBytes: fc.integer({ min: 1, max: 20_000 }),
		stream: fc.oneof(operations, fc.uint8Array({ maxLength: 4000 })),
		partBytes: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5000 })),
	});
	fc.assert(
		fc.property(random, (testCase) => void decode(testCase)),
		{ numRuns: runs(1000) },
	);
});

describe("reports for a stream, byte by byte and whole", () => {
	const source = Buffer.alloc(100, "source");
	for (const [problem, resultBytes, stream] of [
		["", 150, literally(operation("copy", 100), operation("insert", 49, Buffer.alloc(48)))],
		["an operation has length 0", 9, literally(operation("copy", 0))],
		["two seeks in a row", 9, literally(operation("seek", 2), operation("seek", 1), operation("copy", 9))],
		["a number has more than 4 bytes", 9, literally(Buffer.alloc(4, 128))],
		["the result exceeds the announced length", 9, literally(operation("copy", 10))],
		["an operation reads outside the firmware", 900, literally(operation("copy", 101))],
		["an operation reads outside the firmware", 900, literally(operation("seek", 4), operation("add", 99))],
		["an operation reads outside the firmware", 9, literally(operation("seek", 202))],
		["an operation reads outside the firmware", 9, literally(operation("seek", 1))],
		["a match refers to data before the start", 9, Buffer.of(1, 0, 0)],
		["trailing data", 9, literally(operation("copy", 9), Buffer.of(0))],
	] as const)
		test(problem || "nothing if it is truncated", () => {
			for (const partBytes of [1, 1000])
				assert.equal(decode({ source, resultBytes, stream, partBytes }), problem);
		});
});
