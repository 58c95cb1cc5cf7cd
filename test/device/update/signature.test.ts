/** Signature verification by the device: vectors of Project Wycheproof in XS, comparison with OpenSSL in Node. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { finish } from "../../../device/update/p256.js";
import { readSignature, readUpdateSignature, wrongSignature } from "../../../device/update/signature.js";
import { buildMachine, buildProgram } from "../../../hosts/virtual/node/build.js";
import type { Channel } from "../../../hosts/virtual/node/channel.js";
import { Machine } from "../../../hosts/virtual/node/machine.js";
import { runs } from "../../support/property-runs.js";
import { encodeSignature, makeReleaseKey, order } from "../../support/signing.js";

interface Vectors {
	readonly numberOfTests: number;
	readonly testGroups: readonly {
		/** Hex: 4, x and y. */
		readonly key: string;
		readonly tests: readonly {
			readonly tcId: number;
			readonly comment: string;
			/** Hex, as `sig`. */
			readonly msg: string;
			readonly sig: string;
			readonly result: "valid" | "invalid";
		}[];
	}[];
}

const vectors: Vectors = JSON.parse(
	readFileSync(new URL("wycheproof/ecdsa_secp256r1_sha256_p1363_test.json", import.meta.url), "utf8"),
);

function sha256(data: Uint8Array): ArrayBuffer {
	return Uint8Array.from(createHash("sha256").update(data).digest()).buffer;
}

describe("in XS, with a board's heap", () => {
	test("accepts and rejects the vectors of Project Wycheproof for P-256 with SHA-256", async (t) => {
		const main = "test/hosts/virtual/xs/signatures";
		const names = [main, "device/update/signature", "device/update/base64", "device/update/p256"];
		const { bytes: program } = await buildProgram({
			main,
			modules: Object.fromEntries(names.map((name) => [name, `${name}.ts`])),
		});
		let channel: Channel | undefined;
		let answer: (detail: { readonly problem: string | null; readonly microseconds: number }) => void =
			() => {};
		const machine = new Machine({
			executable: await buildMachine(),
			program,
			onOpen: (opened) => {
				channel = opened;
				return { onPost: (_request, detail) => answer(JSON.parse(JSON.stringify(detail))) };
			},
		});
		t.after(() => machine.close());
		await machine.ready;
		const ended = machine.exited.then((exit): never => {
			throw new Error(`the machine ended: ${JSON.stringify(exit)}`);
		});
		const wrong: string[] = [];
		const times: number[] = [];
		let count = 0;
		for (const { key, tests } of vectors.testGroups)
			for (const { tcId, comment, msg, sig, result } of tests) {
				const answered = new Promise<Parameters<typeof answer>[0]>((resolve) => {
					answer = resolve;
				});
				const signature = Buffer.from(sig, "hex").toString("base64");
				channel?.send(
					"check",
					`${key.slice(2)} ${signature}`,
					new Uint8Array(sha256(Buffer.from(msg, "hex"))),
				);
				const { problem, microseconds } = await Promise.race([answered, ended]);
				count += 1;
				if (result === "valid") times.push(microseconds);
				if ((problem === null) !== (result === "valid")) wrong.push(`${tcId} (${comment}): ${problem}`);
			}
		assert.deepEqual(wrong, []);
		assert.equal(count, vectors.numberOfTests);
		const median = times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
		t.diagnostic(`${count} vectors; a verification in XS took ${(median / 1000).toFixed(1)} ms (median)`);
	});
});

describe("compared with OpenSSL", () => {
	const key = makeReleaseKey();
	const other = makeReleaseKey();

	test("accepts its signatures by either of two keys", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 100 }), (data) => {
				for (const keys of [key.text, `${key.text},${other.text}`, `${other.text},${key.text}`])
					assert.equal(problemOf(keys, key.sign(data), sha256(data)), undefined);
			}),
			{ numRuns: runs(20) },
		);
	});
});

describe("text of a signature", () => {
	const scalar = fc.bigInt({ min: 1n, max: order - 1n });

	test("encodes r and s", () => {
		fc.assert(
			fc.property(scalar, scalar, (r, s) => assert.deepEqual(readSignature(encodeSignature(r, s)), { r, s })),
		);
	});

	test("rejects nonzero padding bits, which would encode the same bytes", () => {
		const text = encodeSignature(1n, 4n);
		for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
			const isPlain = "AQgw".includes(letter);
			assert.equal(readSignature(`${text.slice(0, 85)}${letter}==`) !== undefined, isPlain, letter);
		}
	});

	test("has one form: every text either encodes its numbers canonically or is rejected", () => {
		const letters = fc.constantFrom(..."ABgwQx09+/=- \n");
		const text = fc.oneof(
			fc.string(),
			fc.string({ unit: letters, minLength: 86, maxLength: 90 }),
			fc
				.tuple(fc.uint8Array({ minLength: 60, maxLength: 68 }), fc.nat(87), letters)
				.map(([bytes, at, letter]) => {
					const base64 = Buffer.from(bytes).toString("base64");
					return base64.slice(0, at) + letter + base64.slice(at + 1);
				}),
		);
		fc.assert(
			fc.property(text, (base64) => {
				const numbers = readSignature(base64);
				if (numbers) assert.equal(encodeSignature(numbers.r, numbers.s), base64);
			}),
			{ numRuns: runs(2000) },
		);
	});
});

describe("device", () => {
	const image = Buffer.from("an image");
	const key = makeReleaseKey();

	test("rejects everything when its keys are damaged, and reports it", () => {
		for (const text of [
			"0",
			`${key.text},`,
			`${key.text}0`,
			`${key.text},${key.text},${key.text}`,
			key.text.toUpperCase(),
		])
			assert.throws(() => readUpdateSignature(text, key.sign(image)), /invalid release keys/);
	});
});

/** @throws Error with the message of the device */
function problemOf(keys: string, signature: string | undefined, hash: ArrayBuffer): string | undefined {
	const begin = readUpdateSignature(keys, signature);
	return begin && !finish(begin(hash)) ? wrongSignature : undefined;
}
