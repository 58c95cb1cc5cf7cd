/** WebSocket frames of a device, as the gateway's library reads and writes them. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { encodeFrame, FrameReader, opcode } from "../../../device/network/web-socket-frames.js";
import { runs } from "../../support/property-runs.js";
import { messagesIn } from "./client-frames.js";

const maxBytes = 1000;

interface Frame {
	readonly code: number;
	readonly isFinal?: boolean;
	readonly payload: Uint8Array;
}

/** Encodes a server's frame (RFC 6455, 5.2). */
function encode({ code, isFinal = true, payload }: Frame): Buffer {
	const start = (isFinal ? 0x80 : 0) | code;
	const { length } = payload;
	const header = length < 126 ? [start, length] : [start, 126, length >> 8, length & 0xff];
	return Buffer.concat([Buffer.from(header), payload]);
}

/** Reads frames that arrive in chunks. @returns the messages, control frames and errors in order */
function read(bytes: Uint8Array, chunkBytes = bytes.length): unknown[] {
	const heard: unknown[] = [];
	let unread = Buffer.alloc(0);
	const source = {
		get unread() {
			return unread.length;
		},
		read(buffer: Uint8Array) {
			assert.ok(buffer.length <= unread.length, `${buffer.length} of ${unread.length} bytes`);
			buffer.set(unread.subarray(0, buffer.length));
			unread = unread.subarray(buffer.length);
		},
	};
	let isClosed = false;
	const reader = new FrameReader({
		maxBytes,
		onMessage: () => heard.push(Buffer.from(reader.takeMessage()).toString("hex")),
		onControl: (code, payload) => heard.push([code, Buffer.from(payload).toString("hex")]),
		onInvalid: (what) => {
			heard.push(what);
			isClosed = true;
			unread = Buffer.alloc(0);
		},
	});
	for (let at = 0; at < bytes.length && !isClosed; at += chunkBytes) {
		unread = Buffer.from(bytes.subarray(at, at + chunkBytes));
		reader.read(source);
	}
	return heard;
}

const payload = (maxLength: number) => fc.uint8Array({ maxLength, size: "max" });

test("encodes a message in one frame with a random mask", (t) => {
	fc.assert(
		fc.property(payload(maxBytes), (bytes) => {
			assert.deepEqual(messagesIn(Buffer.from(encodeFrame(opcode.text, bytes))), [Buffer.from(bytes)]);
		}),
		{ numRuns: runs(300), examples: [[new Uint8Array(125)], [new Uint8Array(126)], [new Uint8Array(127)]] },
	);
	const empty = new Uint8Array(0);
	let random = 0;
	t.mock.method(Math, "random", () => (random += 0.1));
	assert.notDeepEqual(
		encodeFrame(opcode.ping, empty),
		encodeFrame(opcode.ping, empty),
		"the mask is no nonce",
	);
});

test("joins fragments, and reads control frames between them, whatever the chunks", () => {
	const control = fc.record({
		code: fc.constantFrom(opcode.close, opcode.ping, opcode.pong),
		payload: payload(125),
	});
	const part = fc.record({ payload: payload(300), controls: fc.array(control, { maxLength: 2 }) });
	const messages = fc.array(fc.array(part, { minLength: 1, maxLength: 3 }), { maxLength: 4 });
	fc.assert(
		fc.property(messages, fc.integer({ min: 1, max: 400 }), (messages, chunkBytes) => {
			const frames: Buffer[] = [];
			const expected: unknown[] = [];
			for (const parts of messages) {
				for (const [index, { payload, controls }] of parts.entries()) {
					for (const frame of controls) {
						frames.push(encode(frame));
						expected.push([frame.code, Buffer.from(frame.payload).toString("hex")]);
					}
					const code = index === 0 ? opcode.text : opcode.continuation;
					frames.push(encode({ code, isFinal: index === parts.length - 1, payload }));
				}
				expected.push(Buffer.concat(parts.map(({ payload }) => payload)).toString("hex"));
			}
			assert.deepEqual(read(Buffer.concat(frames), chunkBytes), expected);
		}),
		{ numRuns: runs(500) },
	);
});

describe("rejects", () => {
	for (const [what, bytes] of [
		["a binary frame", [0x82, 1, 0]],
		["an invalid frame", [0xc1, 1, 0]],
		["an invalid frame", [0x81, 0x81, 0, 0, 0, 0, 0]],
		["an invalid frame", [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]],
		["an invalid frame", [0x89, 126, 0, 126]],
		["a message that is too long", [0x81, 126, 0x03, 0xe9]],
	] as const)
		test(`${what} that starts with ${Buffer.from(bytes).toString("hex")}`, () =>
			assert.deepEqual(read(Uint8Array.from(bytes)), [what]));

	test("fragments that are too long together", () => {
		const frame = encode({ code: opcode.text, isFinal: false, payload: Buffer.alloc(501) });
		assert.deepEqual(read(Buffer.concat([frame, frame])), ["a message that is too long"]);
	});
});
