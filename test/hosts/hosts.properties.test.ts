/** Parsers of the hosts: NVS and otadata in flash, upgrade responses, TLS handshakes, frames and typed input. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { makeNvsImage, readNvs } from "../../hosts/esp32/nvs-image.js";
import { ResponseHead } from "../../hosts/moddable/response-head.js";
import { isEcdsaSignature } from "../../hosts/moddable/tls/ecdsa-signature.js";
import { ServerFlight } from "../../hosts/moddable/tls/server-flight.js";
import { Board } from "../../hosts/virtual/node/board.js";
import { Flash, sectorBytes } from "../../hosts/virtual/node/boot/flash.js";
import { NvsStore } from "../../hosts/virtual/node/boot/nvs-store.js";
import { isWritten, makeEntry, readEntries, writeEntry } from "../../hosts/virtual/node/boot/ota-data.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { encodeFrame, type Frame, FrameDecoder } from "../../hosts/virtual/node/frames.js";
import { applyInput } from "../../hosts/virtual/node/input.js";
import {
	anyJson,
	character,
	chunkSizes,
	damaged,
	inChunks,
	jsonText,
	mutatedText,
	oddText,
} from "../support/arbitraries.js";
import { runs } from "../support/property-runs.js";
import { readStrings } from "./esp32/nvs/reader.js";

const namespace = "settings";
const key = fc.stringMatching(/^[!-~]{1,15}$/).filter((name) => name !== "__proto__");
const value = fc.oneof(
	fc.string({ unit: "grapheme", maxLength: 60 }).filter((text) => Buffer.from(text).toString() === text),
	fc.nat(3999).map((length) => "x".repeat(length)),
);
const values = fc
	.dictionary(key, value, { maxKeys: 6, noNullPrototype: true })
	.filter((all) => !Object.values(all).join("").includes("\0"));
const { byteLength } = partitions.nvs;

function openStore(content: Uint8Array): NvsStore {
	const flash = new Flash({ byteLength: flashBytes });
	flash.load(partitions.nvs.offset, Buffer.from(content));
	return new NvsStore({ flash });
}

test("every reader returns the settings written to an NVS image", () => {
	fc.assert(
		fc.property(values, (given) => {
			const image = makeNvsImage({ byteLength, namespace, values: given });
			const expected = new Map(Object.entries(given));
			assert.deepEqual(readNvs(image, namespace), expected);
			assert.deepEqual(readStrings(image, namespace), expected);
			const store = openStore(image);
			for (const [name, text] of expected) assert.equal(store.read(name), text);
		}),
	);
});

/** NVS as nvs_flash of ESP-IDF left it, with values that were written several times. */
const used = gunzipSync(readFileSync(new URL("./esp32/nvs/used.bin.gz", import.meta.url)));

test("a damaged NVS returns only values that were written, even after further writes", () => {
	const content = used.toString("latin1");
	const names = [...readNvs(used, namespace).keys()];
	const inUse = fc.tuple(fc.nat(used.length - 1), fc.integer({ min: 1, max: 255 }));
	fc.assert(
		fc.property(fc.array(inUse, { minLength: 1, maxLength: 4 }), (changes) => {
			const bytes = Buffer.from(used);
			for (const [at, bits] of changes) bytes[at] = (bytes[at] ?? 0) ^ bits;
			const store = openStore(bytes);
			const kept = new Map(names.map((name) => [name, store.read(name)]));
			for (const [name, text] of [...readNvs(bytes, namespace), ...kept]) {
				assert.ok(names.includes(name), name);
				assert.ok(text === undefined || content.includes(Buffer.from(`${text}\0`).toString("latin1")), name);
			}
			store.write("fresh", "7");
			assert.equal(store.read("fresh"), "7");
		}),
		{ numRuns: runs(500) },
	);
});

test("arbitrary bytes as an NVS return no settings", () => {
	const pages = fc
		.uint8Array({ minLength: 64, maxLength: 4096 })
		.map((bytes) => Buffer.alloc(3 * sectorBytes, bytes));
	fc.assert(
		fc.property(pages, (bytes) => {
			assert.equal(readNvs(bytes, namespace).size, 0);
			const store = openStore(bytes);
			store.write("volume", "7");
			assert.equal(store.read("volume"), "7");
		}),
	);
});

test("an otadata entry is read as written, and ignored with a damaged number or CRC", () => {
	const flash = new Flash({ byteLength: flashBytes });
	const entry = fc.record({ sequence: fc.integer({ min: 1, max: 0xffff_fffe }), state: fc.nat(4) });
	fc.assert(
		fc.property(entry, fc.nat(7), fc.integer({ min: 1, max: 255 }), ({ sequence, state }, place, bits) => {
			const written = makeEntry(sequence, state);
			writeEntry(flash, 1, written);
			assert.deepEqual(readEntries(flash)[1], written);
			assert.equal(isWritten(written), true);
			const at = partitions.otadata.offset + sectorBytes;
			const bytes = flash.read(at, sectorBytes);
			// The number is the first four bytes, its CRC the last four of 32.
			const offset = place < 4 ? place : 24 + place;
			bytes[offset] = (bytes[offset] ?? 0) ^ bits;
			flash.load(at, bytes);
			assert.equal(isWritten(readEntries(flash)[1]), false);
		}),
	);
});

function readHead(bytes: Uint8Array): ResponseHead {
	const head = new ResponseHead();
	for (const byte of bytes) head.read(byte);
	return head;
}

test("the head of a response gives its status and Retry-After, with any other fields", () => {
	const field = fc
		.stringMatching(/^[A-Za-z-]{1,20}: [!-~ ]{0,200}$/)
		.filter((line) => !/^retry-after/i.test(line));
	const head = fc.record({
		status: fc.integer({ min: 100, max: 999 }),
		reason: fc.constantFrom("", " ", " Service Unavailable"),
		before: fc.array(field, { maxLength: 5 }),
		seconds: fc.option(fc.nat(999_999_999), { nil: undefined }),
		name: fc.mixedCase(fc.constant("retry-after")),
		after: fc.array(field, { maxLength: 5 }),
		lineEnd: fc.constantFrom("\r\n", "\n"),
		body: fc.string(),
	});
	fc.assert(
		fc.property(head, ({ status, reason, before, seconds, name, after, lineEnd, body }) => {
			const header = seconds === undefined ? [] : [`${name}: ${seconds}`];
			const lines = [`HTTP/1.1 ${status}${reason}`, ...before, ...header, ...after, "", body];
			const read = readHead(Buffer.from(lines.join(lineEnd)));
			assert.deepEqual([read.status, read.retryAfterSeconds, read.isOver], [status, seconds, true]);
		}),
	);
});

test("any other response gives only the status of an HTTP line and a Retry-After in whole seconds, and ends", () => {
	const text = fc.oneof(
		mutatedText(fc.constant("HTTP/1.1 503 Busy\r\nRetry-After: 120\r\n\r\n")),
		oddText,
		fc.string({ unit: character, maxLength: 300 }),
	);
	fc.assert(
		fc.property(text, (said) => {
			const bytes = Buffer.from(said);
			const { status, retryAfterSeconds } = readHead(bytes);
			const [line] = bytes.toString("latin1").split("\n");
			if (status) assert.match(line ?? "", new RegExp(`^HTTP/1\\.\\d ${status}( .*)?\r?$`, "s"));
			if (retryAfterSeconds !== undefined)
				assert.match(said, new RegExp(`^retry-after:[ \t]*0*${retryAfterSeconds}[ \t]*\r?$`, "im"));
			assert.equal(readHead(Buffer.concat([bytes, Buffer.alloc(9000, "x")])).isOver, true);
		}),
		{ numRuns: runs(1000) },
	);
});

const positive = fc
	.uint8Array({ minLength: 1, maxLength: 32 })
	.filter((bytes) => bytes.some((byte) => byte > 0));
const integerOf = (bytes: Uint8Array) => {
	const signed = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : [...bytes];
	return [2, signed.length, ...signed];
};
const signature = fc.tuple(positive, positive).map(([r, s]) => {
	const numbers = [...integerOf(r), ...integerOf(s)];
	return Uint8Array.of(0x30, numbers.length, ...numbers);
});

test("an ECDSA signature is two positive numbers and nothing else", () => {
	fc.assert(fc.property(signature, (der) => assert.equal(isEcdsaSignature(der), true)));
	fc.assert(
		fc.property(
			fc.oneof(
				signature.chain((der) => damaged(der)),
				fc.uint8Array({ maxLength: 80 }),
			),
			(der) => {
				if (!isEcdsaSignature(der)) return;
				const rLength = der[3] ?? 0;
				const numbers = [der.subarray(4, 4 + rLength), der.subarray(6 + rLength)];
				assert.equal(
					numbers.reduce((sum, { length }) => sum + 2 + length, 2),
					der.length,
				);
				for (const bytes of numbers)
					assert.ok(
						BigInt(`0x0${Buffer.from(bytes).toString("hex")}`) > 0n && (bytes[0] ?? 0) < 0x80,
						`not positive: ${bytes}`,
					);
			},
		),
		{ numRuns: runs(2000) },
	);
});

const message = (type: number, body: Uint8Array) =>
	Buffer.from([type, 0, body.length >> 8, body.length & 255, ...body]);
const keyExchange = fc
	.tuple(fc.uint8Array({ maxLength: 65 }), signature)
	.map(([point, der]) =>
		message(12, Uint8Array.of(3, 0, 23, point.length, ...point, 4, 3, 0, der.length, ...der)),
	);
const handshakeMessage = fc.oneof(
	...[2, 11, 13, 14, 0, 20].map((type) =>
		fc.uint8Array({ maxLength: 300 }).map((body) => message(type, body)),
	),
	{ weight: 2, arbitrary: keyExchange },
);
const goodFlight = fc
	.tuple(fc.uint8Array(), fc.uint8Array({ maxLength: 300 }), keyExchange, fc.boolean())
	.map(([hello, certificate, exchange, isAsked]) => [
		message(2, hello),
		message(11, certificate),
		exchange,
		...(isAsked ? [message(13, hello)] : []),
		message(14, new Uint8Array(0)),
	]);

/** @returns whether all messages were accepted; undefined: rejected with a message */
function hear(records: readonly Uint8Array[]): boolean | undefined {
	const flight = new ServerFlight();
	try {
		for (const content of records)
			flight.check(
				Buffer.concat([Buffer.from([22, 3, 3, content.length >> 8, content.length & 255]), content]),
				false,
			);
		return flight.isWhole;
	} catch (error) {
		assert.ok(error instanceof Error && /^TLS: .{10}/.test(error.message), String(error));
		return undefined;
	}
}

test("a server's handshake is complete exactly with each message once and in order", () => {
	fc.assert(
		fc.property(goodFlight, fc.boolean(), (messages, isInOne) => {
			assert.equal(hear(isInOne ? [Buffer.concat(messages)] : messages), true);
		}),
	);
	const withoutOne = fc
		.tuple(goodFlight, fc.nat(4))
		.map(([messages, at]) => messages.toSpliced(at % messages.length, 1));
	const exchanged = fc
		.tuple(goodFlight, handshakeMessage, fc.nat(5), fc.nat(1))
		.map(([messages, other, at, removed]) => messages.toSpliced(at, removed, other));
	const records = fc.oneof(
		fc.array(handshakeMessage, { maxLength: 6 }),
		exchanged,
		withoutOne,
		fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }),
		goodFlight.chain((messages) => damaged(Buffer.concat(messages)).map((bytes) => [bytes])),
	);
	fc.assert(
		fc.property(records, (contents) => {
			if (!hear(contents)) return;
			const types: number[] = [];
			const all = Buffer.concat(contents);
			for (let at = 0; at < all.length; at += 4 + all.readUIntBE(at + 1, 3)) types.push(all.readUInt8(at));
			assert.match(types.join(), /^2,11,12,(13,)?14$/);
		}),
		{ numRuns: runs(2000) },
	);
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 20 }), fc.boolean(), (record, isKeySent) => {
			if (record[0] === 22) return;
			assert.throws(() => new ServerFlight().check(record, isKeySent), /^Error: TLS: /);
		}),
	);
});

test("frames to and from a machine arrive complete and in order, in chunks of any size", () => {
	const frame = fc.record(
		{
			kind: fc.nat(255),
			channel: fc.nat(),
			header: fc.string({ unit: "grapheme" }).map((text) => Buffer.from(text).toString()),
			payload: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
		},
		{ noNullPrototype: true },
	);
	fc.assert(
		fc.property(fc.array(frame), chunkSizes, (frames, sizes) => {
			const seen: Frame[] = [];
			const decoder = new FrameDecoder({
				onFrame: (each) => void seen.push({ ...each, payload: Buffer.from(each.payload) }),
			});
			const bytes = Buffer.concat(
				frames.flatMap(({ kind, channel, header, payload }) => encodeFrame(kind, channel, header, payload)),
			);
			for (const piece of inChunks(bytes, sizes)) decoder.write(Buffer.from(piece));
			assert.deepEqual(seen, frames);
		}),
	);
});

test("a typed line sets the input that it names or is rejected with the valid inputs", () => {
	const line = fc.oneof(
		jsonText(
			fc.record({ button: fc.constantFrom("play", "mute", "x"), pressed: fc.oneof(fc.boolean(), anyJson) }),
		),
		jsonText(fc.record({ light: fc.oneof(fc.integer({ min: -5, max: 5000 }), anyJson) })),
		mutatedText(fc.constant('{"touch":true}')),
		jsonText(anyJson),
	);
	const board = new Board();
	fc.assert(
		fc.property(line, (text) => {
			try {
				applyInput(board, text);
			} catch (error) {
				assert.match(String(error), /^Error: .+\. Examples: /s);
			}
			const { light = 0 } = board;
			assert.ok(Number.isInteger(light) && light >= 0 && light <= 4095, `light of ${light}`);
		}),
		{ numRuns: runs(500) },
	);
});
