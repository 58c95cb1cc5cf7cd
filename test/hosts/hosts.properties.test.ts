/** Parsers of the hosts: NVS and otadata in flash, upgrade responses, TLS handshakes, frames and typed input. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { readNvs } from "../../hosts/esp32/nvs-image.js";
import { ServerFlight } from "../../hosts/moddable/tls/server-flight.js";
import { Flash, sectorBytes } from "../../hosts/virtual/node/boot/flash.js";
import { NvsStore } from "../../hosts/virtual/node/boot/nvs-store.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { encodeFrame, type Frame, FrameDecoder } from "../../hosts/virtual/node/frames.js";
import { chunkSizes, damaged, inChunks } from "../support/arbitraries.js";
import { runs } from "../support/property-runs.js";

const namespace = "settings";
function openStore(content: Uint8Array): NvsStore {
	const flash = new Flash({ byteLength: flashBytes });
	flash.load(partitions.nvs.offset, Buffer.from(content));
	return new NvsStore({ flash });
}

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
				onFrame: (decoded) => void seen.push({ ...decoded, payload: Buffer.from(decoded.payload) }),
			});
			const bytes = Buffer.concat(
				frames.flatMap(({ kind, channel, header, payload }) => encodeFrame(kind, channel, header, payload)),
			);
			for (const piece of inChunks(bytes, sizes)) decoder.write(Buffer.from(piece));
			assert.deepEqual(seen, frames);
		}),
	);
});
