import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
	command,
	encodeCommand,
	encodePacket,
	joinFields,
	PacketReader,
	packetType,
	splitFields,
} from "../../../device/improv/packets.js";
import { runs } from "../../support/property-runs.js";

const packet = fc.record({
	type: fc.integer({ min: 0, max: 255 }),
	data: fc.uint8Array({ maxLength: 255 }),
});
/** Whether the reader can tell before the end of the next packet that these bytes contain no packet. */
const isNoise = (bytes: Uint8Array) => !Buffer.from(bytes).includes("IMPROV\x01", 0, "latin1");
const noise = fc
	.oneof(
		fc.uint8Array({ maxLength: 300 }),
		fc
			.array(fc.constantFrom("IMPROV", "IMPR", "I", "V\x01", "IMPROV\x02\x03\x00", "a line of a log\r\n"))
			.map((parts) => Uint8Array.from(Buffer.from(parts.join(""), "latin1"))),
	)
	.filter(isNoise);

/** Packets that a reader finds in bytes cut into chunks of these sizes, repeated in turn. */
function found(bytes: Uint8Array, sizes: readonly number[] = [bytes.length]) {
	const packets: { type: number; data: number[] }[] = [];
	const reader = new PacketReader((type, data) => packets.push({ type, data: [...data] }));
	for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
		const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
		reader.read(bytes.subarray(at, at + size));
		at += size;
	}
	reader.pause();
	return packets;
}

const plain = (packets: readonly { readonly type: number; readonly data: Uint8Array }[]) =>
	packets.map(({ type, data }) => ({ type, data: [...data] }));

test("finds packets between any noise, in chunks of any size", () => {
	fc.assert(
		fc.property(
			fc.array(fc.tuple(noise, packet), { maxLength: 6 }),
			noise,
			fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
			(parts, end, sizes) => {
				const bytes = Buffer.concat([
					...parts.flatMap(([before, { type, data }]) => [before, encodePacket(type, data)]),
					end,
				]);
				// Noise and the bytes after it may share the start of a header.
				fc.pre(bytes.toString("latin1").split("IMPROV\x01").length === parts.length + 1);
				assert.deepEqual(found(bytes, sizes), plain(parts.map(([, packet]) => packet)));
			},
		),
		{ numRuns: runs(2000) },
	);
});

test("rejects a packet with a damaged byte and finds the next one", () => {
	fc.assert(
		fc.property(packet, packet, fc.nat(), fc.integer({ min: 1, max: 255 }), (first, next, place, change) => {
			const bytes = encodePacket(first.type, first.data);
			// Except length and line feed, see below.
			const places = [...bytes.keys()].filter((at) => at !== 8 && at !== bytes.length - 1);
			const at = places[place % places.length] ?? 0;
			bytes[at] = (bytes[at] ?? 0) ^ change;
			const all = Buffer.concat([bytes, encodePacket(next.type, next.data)]);
			fc.pre(all.toString("latin1").split("IMPROV\x01").length <= 3);
			assert.deepEqual(found(all), plain([next]));
		}),
		{ numRuns: runs(2000) },
	);
});

test("resynchronizes after a pause when a packet was cut off", () => {
	const broken = encodePacket(packetType.command, new Uint8Array(200)).subarray(0, 20);
	const whole = encodeCommand(packetType.command, command.networks, new Uint8Array());
	const packets: number[] = [];
	const reader = new PacketReader((type) => packets.push(type));
	reader.read(Buffer.concat([broken, whole]));
	assert.deepEqual(packets, []);
	reader.pause();
	reader.read(whole);
	assert.deepEqual(packets, [packetType.command, packetType.command]);
});

test("survives arbitrary bytes", () => {
	fc.assert(
		fc.property(fc.array(fc.uint8Array({ maxLength: 600 })), (pieces) => {
			const header = Buffer.from("IMPROV\x01\x03", "latin1");
			found(Buffer.concat(pieces.flatMap((piece) => [header, piece])), [7, 64]);
		}),
	);
});

test("splits fields as they were joined, and rejects lengths that do not fit", () => {
	fc.assert(
		fc.property(fc.array(fc.uint8Array({ maxLength: 255 })), (fields) => {
			assert.deepEqual(splitFields(joinFields(fields)), fields);
		}),
	);
	for (const wrong of [[1], [0, 3, 1, 2]]) assert.throws(() => splitFields(Uint8Array.from(wrong)), /longer/);
});

test("encodes the example packet of the Improv standard", () => {
	const text = (bytes: string) => Uint8Array.from(Buffer.from(bytes));
	const fields = joinFields([text("MyWirelessAP"), text("mysecurepassword")]);
	const bytes = Buffer.from(encodeCommand(packetType.command, command.wifiSettings, fields));
	assert.equal(bytes.subarray(0, 9).toString("hex"), "494d50524f56010320");
	assert.equal(bytes.subarray(9, -2).toString("latin1"), "\x01\x1e\x0cMyWirelessAP\x10mysecurepassword");
	assert.deepEqual(
		[...bytes.subarray(-2)],
		[bytes.subarray(0, -2).reduce((sum, byte) => sum + byte, 0) & 0xff, 10],
	);
});
