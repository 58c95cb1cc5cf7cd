import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode, type Packet } from "dns-packet";
import fc from "fast-check";
import { gatewayQuestion, readTexts } from "../../../device/network/mdns.js";
import { runs } from "../../support/property-runs.js";

const name = "hall:8080._device-gateway._tcp.local";
const texts = fc.array(fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 100 }), {
	minLength: 1,
	maxLength: 5,
});

function answerWith(data: readonly string[], changed: Partial<Packet> = {}): Buffer {
	return encode({
		type: "response",
		questions: [{ name: "abc._sub._device-gateway._tcp.local", type: "PTR" }],
		answers: [
			{ name: "abc._sub._device-gateway._tcp.local", type: "PTR", data: name },
			{ name, type: "SRV", data: { port: 8080, target: "hall.local" } },
			{ name, type: "TXT", data: [...data] },
			{ name: "hall.local", type: "A", data: "192.168.1.10" },
		],
		...changed,
	});
}

/** undefined: the message is damaged. */
function read(bytes: Uint8Array): readonly string[] | undefined {
	try {
		return readTexts(bytes);
	} catch (error) {
		assert.ok(error instanceof RangeError, String(error));
		return undefined;
	}
}

test("a question asks for PTR records of the given name", () => {
	const { type, questions } = decode(Buffer.from(gatewayQuestion("1a2b.dev-1-a1b2c3.ffee")));
	assert.equal(type, "query");
	const asked = questions?.map((question) => [question.name, question.type, question.class]);
	assert.deepEqual(asked, [["1a2b.dev-1-a1b2c3.ffee._sub._device-gateway._tcp.local", "PTR", "IN"]]);
});

test("reads the TXT strings of an answer from any section", () => {
	fc.assert(
		fc.property(texts, fc.boolean(), (pairs, isAdditional) => {
			const record = { name, type: "TXT" as const, data: [...pairs] };
			const changed = isAdditional ? { answers: [], additionals: [record] } : {};
			assert.deepEqual(readTexts(answerWith(pairs, changed)), pairs);
		}),
		{ numRuns: runs(500) },
	);
});

test("skips compressed names", () => {
	// The record's name is a pointer to byte 12.
	const text = Buffer.from("proof=1");
	const record = [0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 1, 0, text.length + 1, text.length, ...text];
	const bytes = [0, 0, 0x84, 0, 0, 0, 0, 2, 0, 0, 0, 0, ...record, ...record];
	assert.deepEqual(readTexts(Uint8Array.from(bytes)), ["proof=1", "proof=1"]);
});

test("rejects an answer that is truncated anywhere, and never reads past its end", () => {
	fc.assert(
		fc.property(texts, fc.nat(), (pairs, draw) => {
			const whole = answerWith(pairs);
			const length = draw % whole.length;
			// Bytes after the end must not matter.
			const memory = new Uint8Array([...whole, ...whole]);
			assert.equal(read(memory.subarray(0, length)), undefined);
		}),
		{ numRuns: runs(2000) },
	);
});

test("parses damaged answers or throws RangeError", () => {
	const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 10 });
	fc.assert(
		fc.property(texts, damage, fc.uint8Array({ maxLength: 300 }), (pairs, changes, noise) => {
			const bytes = answerWith(pairs);
			for (const [at, value] of changes) bytes[at % bytes.length] = value;
			read(bytes);
			read(noise);
			read(Buffer.concat([bytes.subarray(0, 12), noise]));
		}),
		{ numRuns: runs(5000) },
	);
});
