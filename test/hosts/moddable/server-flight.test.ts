/** Unencrypted messages of a TLS server. All others are rejected before they reach the SDK. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerFlight } from "../../../hosts/moddable/tls/server-flight.js";

const message = (type: number, ...body: number[]) => [type, 0, 0, body.length, ...body];
const record = (type: number, ...content: number[]) =>
	Uint8Array.of(type, 3, 3, 0, content.length, ...content);

const serverHello = message(2, 3, 3);
const certificate = message(11, 0, 0, 0);
/** Key exchange: curve secp256r1, a point of two bytes; then hash, type, length and signature. */
const signature = [0x30, 6, 2, 1, 7, 2, 1, 8];
const keyExchange = (hash = 4, kind = 3, bytes = signature) =>
	message(12, 3, 0, 23, 2, 4, 4, hash, kind, 0, bytes.length, ...bytes);
const certificateRequest = message(13, 0);
const done = message(14);
const changeCipherSpec = record(20, 1);

/** Checks messages with one record each. @returns the checker */
function hear(...messages: readonly number[][]): ServerFlight {
	const flight = new ServerFlight();
	for (const bytes of messages) flight.check(record(22, ...bytes), false);
	return flight;
}

describe("handshake of a server", () => {
	test("is complete with hello, certificate, signed key and done", () => {
		assert.equal(hear(serverHello, certificate, keyExchange()).isWhole, false);
		const flight = hear(serverHello, certificate, keyExchange(), done);
		assert.equal(flight.isWhole, true);
		flight.check(changeCipherSpec, true);
	});

	test("may be in one record, and request a certificate", () => {
		const all = [serverHello, certificate, keyExchange(4, 1), certificateRequest, done].flat();
		assert.equal(hear(all).isWhole, true);
	});

	for (const [hash, kind] of [
		[0, 0],
		[0, 3],
		[4, 0],
		[2, 1],
		[4, 2],
		[9, 3],
	] as const)
		test(`is rejected if its key has hash ${hash} and signature ${kind}`, () =>
			assert.throws(
				() => hear(serverHello, certificate, keyExchange(hash, kind)),
				/Only SHA-256 \(4\) with RSA/,
			));

	test("is rejected if its key has an empty signature, or one of another length", () => {
		for (const signature of [[0, 0], [0, 3, 7, 8], [0, 1, 7, 8], []])
			assert.throws(
				() => hear(serverHello, certificate, message(12, 3, 0, 23, 2, 4, 4, 4, 3, ...signature)),
				/inconsistent lengths/,
			);
		assert.throws(() => hear(serverHello, certificate, message(12)), /Only SHA-256/);
	});

	test("is rejected with an invalid ECDSA signature: the SDK would loop forever if s is a multiple of the order", () => {
		const [p256, p384] = [
			"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
			"ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
		].map((hex) => [0, ...Buffer.from(hex, "hex")]);
		assert.ok(p256 && p384, "the curves' orders are missing");
		for (const number of [p256, p384, [...p256, 0], [1, ...p384.slice(1), 0]])
			for (const content of [
				[2, number.length, ...number, 2, 1, 8],
				[2, 1, 7, 2, number.length, ...number],
			])
				assert.throws(
					() => hear(serverHello, certificate, keyExchange(4, 3, [0x30, content.length, ...content])),
					/invalid ECDSA signature/,
				);
		for (const none of [
			[0x30, 6, 2, 1, 7, 2, 1, 0],
			[0x30, 6, 2, 1, 0, 2, 1, 8],
			[0x30, 8, 2, 2, 0, 0, 2, 2, 0, 0],
			[0x30, 6, 2, 1, 7, 2, 1, 0x88],
			[0x30, 5, 2, 1, 7, 2, 0],
			[0x30, 6, 2, 1, 7, 3, 1, 8],
			[0x30, 7, 2, 1, 7, 2, 1, 8],
			[0x30, 6, 2, 1, 7, 2, 1, 8, 9],
			[0x31, 6, 2, 1, 7, 2, 1, 8],
			[0x30],
		])
			assert.throws(() => hear(serverHello, certificate, keyExchange(4, 3, none)), /invalid ECDSA signature/);
	});

	test("is rejected if it is split over records", () => {
		const [first, second] = [keyExchange().slice(0, 9), keyExchange().slice(9)];
		assert.throws(() => hear(serverHello, certificate, first, second), /split/);
		assert.throws(() => hear(serverHello, certificate, [12, 0]), /split|lengths|signed/);
	});

	test("is rejected if it ends with an alert, even close_notify", () => {
		for (const [level, description] of [
			[1, 0],
			[2, 40],
		] as const)
			assert.throws(
				() => hear(serverHello).check(record(21, level, description), false),
				new RegExp(`alert ${description} `),
			);
	});

	test("is rejected with unencrypted data", () => {
		for (const flight of [hear(), hear(serverHello, certificate, keyExchange(), done)])
			assert.throws(() => flight.check(record(23, 1), true), /record of type 23/);
	});

	test("is rejected if it changes ciphers before both sides have their keys", () => {
		assert.throws(() => hear(serverHello).check(changeCipherSpec, true), /record of type 20/);
		const flight = hear(serverHello, certificate, keyExchange(), done);
		assert.throws(() => flight.check(changeCipherSpec, false), /record of type 20/);
	});
});
