/** Patch decoder of the boards in C, compiled for this computer and compared with the decoder in TypeScript. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { patchHead, patchOperations } from "../../../device/protocol/patch-format.js";
import { PatchDecoder } from "../../../device/update/patch-decoder.js";
import { makePatch } from "../../../scripts/release/patch.js";
import { assertSameBytes } from "../../support/bytes.js";
import { compileHarness, runC, withoutCompiler as skip } from "../../support/c-program.js";
import { damagePatch, firmwarePairs, patchDamages } from "../../support/patches.js";
import { runs } from "../../support/property-runs.js";

let program = "";

interface Case {
	readonly source: Uint8Array;
	readonly resultBytes: number;
	readonly stream: Uint8Array;
	readonly partBytes: number;
}
interface Outcome {
	readonly made: Buffer;
	/** Empty: none. */
	readonly problem: string;
}

function partsOf({ stream, partBytes }: Case): readonly Uint8Array[] {
	const count = Math.ceil(stream.byteLength / partBytes);
	return Array.from({ length: count }, (_, index) =>
		stream.subarray(index * partBytes, (index + 1) * partBytes),
	);
}

function runInTypeScript(testCase: Case): Outcome {
	const { source, resultBytes } = testCase;
	const decoder = new PatchDecoder({
		source: {
			read(buffer, offset) {
				if (source[offset] === 255) throw new Error("unreadable");
				assert.ok(buffer.byteLength > 0 && offset + buffer.byteLength <= source.byteLength, "reads outside");
				buffer.set(source.subarray(offset, offset + buffer.byteLength));
			},
		},
		sourceBytes: source.byteLength,
		resultBytes,
	});
	const pieces: Buffer[] = [];
	let left = resultBytes;
	let piece = new Uint8Array(Math.min(left, 4096));
	try {
		for (const part of partsOf(testCase))
			for (let offset = 0; ; ) {
				offset = decoder.decode(piece, part, offset);
				if (offset < 0 || left === 0) break;
				pieces.push(Buffer.from(piece));
				left -= piece.byteLength;
				piece = new Uint8Array(Math.min(left, 4096));
			}
	} catch (error) {
		const text = error instanceof Error ? error.message : "";
		const [, problem = text] = /^The patch is damaged: (.*)\.$/.exec(text) ?? [];
		return { made: Buffer.concat(pieces), problem };
	}
	return { made: Buffer.concat(pieces), problem: "" };
}

function runInC(cases: readonly Case[]): readonly Outcome[] {
	const number = (value: number) => {
		const bytes = Buffer.alloc(4);
		bytes.writeUInt32LE(value);
		return bytes;
	};
	const withLength = (bytes: Uint8Array) => [number(bytes.byteLength), bytes];
	const input = cases.flatMap((testCase) => {
		const parts = partsOf(testCase);
		return [
			...withLength(testCase.source),
			number(testCase.resultBytes),
			number(parts.length),
			...parts.flatMap(withLength),
		];
	});
	const output = runC(program, Buffer.concat(input));
	let at = 0;
	const next = () => {
		const start = at + 4;
		at = start + output.readUInt32LE(at);
		return output.subarray(start, at);
	};
	return cases.map(() => ({ made: next(), problem: next().toString() }));
}

/** @returns the outcomes, which must be the same in both languages */
function runBoth(cases: readonly Case[]): readonly Outcome[] {
	const outcomes = runInC(cases);
	for (const [index, testCase] of cases.entries()) {
		const expected = runInTypeScript(testCase);
		assert.equal(outcomes[index]?.problem, expected.problem, `case ${index}`);
		assertSameBytes(outcomes[index]?.made ?? Buffer.alloc(0), expected.made, `case ${index}`);
	}
	return outcomes;
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

const partBytes = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5000 }));
const streamOf = (from: Uint8Array, to: Uint8Array) => makePatch(from, to).subarray(patchHead.byteLength);

describe("patch decoder of the boards", { skip }, () => {
	before(() => {
		program = compileHarness("patch-harness.c", "patch-decoder.c");
	});

	test("makes any firmware from any other, in chunks of any size", () => {
		// The longest matches, at every position of the decompressed text.
		const zeros = Array.from({ length: 40 }, (_, start) => ({
			from: Buffer.alloc(0),
			to: Buffer.concat([Uint8Array.from({ length: start }, (_, index) => index + 1), Buffer.alloc(1000)]),
		}));
		const pairs = [...zeros, ...fc.sample(firmwarePairs, runs(1000))];
		const sizes = fc.sample(partBytes, pairs.length);
		const outcomes = runBoth(
			pairs.map(({ from, to }, index) => ({
				source: from,
				resultBytes: to.byteLength,
				stream: streamOf(from, to),
				partBytes: sizes[index] ?? 1,
			})),
		);
		for (const [index, { to }] of pairs.entries()) {
			const { made, problem } = outcomes[index] ?? { made: Buffer.alloc(0), problem: "no outcome" };
			if (problem !== "unreadable") assertSameBytes(made, to, `case ${index}`);
		}
	});

	test("equals the TypeScript decoder for damaged patches, random bytes and random operations, without memory errors", () => {
		const source = fc.uint8Array({ maxLength: 9000 });
		const resultBytes = fc.integer({ min: 1, max: 20_000 });
		const damaged = fc
			.record({ pair: firmwarePairs, damages: patchDamages, partBytes })
			.map(({ pair: { from, to }, damages, partBytes }) => ({
				source: from,
				resultBytes: to.byteLength,
				stream: damagePatch(streamOf(from, to), damages),
				partBytes,
			}));
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
		const stream = fc.oneof(operations, fc.uint8Array({ maxLength: 4000 }));
		const random = fc.record({ source, resultBytes, stream, partBytes });
		runBoth([...fc.sample(damaged, runs(3000)), ...fc.sample(random, runs(3000))]);
	});

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
		["unreadable", 9, literally(operation("seek", 198), operation("copy", 1))],
	] as const)
		test(`reports for a stream, byte by byte and whole: ${problem || "truncated"}`, () => {
			const readable = problem === "unreadable" ? source.fill(255, 99) : source;
			for (const partBytes of [1, 1000]) {
				const [outcome] = runBoth([{ source: readable, resultBytes, stream, partBytes }]);
				assert.equal(outcome?.problem, problem);
			}
		});
});
