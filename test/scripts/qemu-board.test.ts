/** Board in QEMU as its listeners see it; the board model is the other end of a stream. */

import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { test } from "node:test";
import type { Model } from "../../device/protocol/models.js";
import { register, volumeRegister } from "../../hosts/esp32/es8311.js";
import { applyInput } from "../../hosts/virtual/node/input.js";
import { readPins } from "../../scripts/boards/pins.js";
import { type BoardEvent, EmulatedBoard } from "../../scripts/qemu/board.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";

const boardPins = { "DEV-1": await readPins("DEV-1"), "PROTO-1": await readPins("PROTO-1") };

/** Connects a board to a model. @returns the board, lines sent to the model, and a function that sends a line of the model */
function connect(model: Model, samplesFile?: string) {
	const sent: unknown[] = [];
	const stream = new Duplex({
		read() {},
		write(lines, _encoding, done) {
			for (const line of String(lines).trim().split("\n")) sent.push(JSON.parse(line));
			done();
		},
	});
	const board = new EmulatedBoard({ stream, pins: boardPins[model], ...(samplesFile && { samplesFile }) });
	const report = (event: BoardEvent) => stream.push(`${JSON.stringify(event)}\n`);
	return { board, sent, stream, report };
}

test("shows the LEDs' colors and the gain that the codec's registers set", async () => {
	const { board, report } = connect("DEV-1");
	const gains: number[] = [];
	board.listen({ onGain: (gain) => gains.push(gain) });
	report({ ring: "00ff0010207f" });
	report({ codec: [register.dacVolume, volumeRegister(100)] });
	report({ codec: [register.dacMute, 0x60] });
	await waitUntil(() => gains.length === 2);
	assert.deepEqual([...board.pixels], [0xff, 0, 0, 0x20, 0x10, 0x7f], "from green, red, blue");
	assert.deepEqual(gains, [1, 0]);
});

test("passes inputs to the model, and the sensors' again after a power cut", () => {
	const { board, sent } = connect("PROTO-1");
	const { touch, button } = boardPins["PROTO-1"];
	const sensors = [
		{ adc: 3, value: 1500 },
		{ touch, value: 24_000 },
	];
	assert.deepEqual(sent.splice(0), sensors);
	for (const line of ['{"button":"play","pressed":true}', '{"light":7}', '{"touch":true}'])
		applyInput(board, line);
	const changed = [
		{ adc: 3, value: 7 },
		{ touch, value: 31_000 },
	];
	assert.deepEqual(sent.splice(0), [{ gpio: button.play, level: 0 }, ...changed]);
	assert.deepEqual([board.isPressed("play"), board.light, board.isTouched], [true, 7, true]);
	board.connect(new PassThrough().on("data", (line) => sent.push(...String(line).trim().split("\n"))));
	const messages = sent.map((line) => JSON.parse(String(line)));
	assert.deepEqual(messages, changed);
});

test("rejects inputs that the board or QEMU lacks, with the reason", () => {
	const { board, sent } = connect("DEV-1");
	for (const [line, reason] of [
		['{"light":7}', /no light sensor/],
		['{"touch":true}', /no touch pad/],
		['{"rssi":-60}', /network of QEMU is wired/],
	] as const)
		assert.throws(() => applyInput(board, line), reason);
	assert.deepEqual([sent, board.light], [[], 1500]);
});

test("plays the samples that QEMU appends to its file while the transmitter runs", async (t) => {
	const file = join(await temporaryDirectory(t), "sound.pcm");
	const { board, report, stream } = connect("DEV-1", file);
	const heard: number[] = [];
	board.listen({ onQueued: (samples) => heard.push(...samples) });
	writeFileSync(file, Uint8Array.of(1, 2, 3, 4));
	report({ i2s: true, bytes: 2 });
	await waitUntil(() => heard.length === 2);
	appendFileSync(file, Uint8Array.of(5, 6));
	await waitUntil(() => heard.length === 4);
	assert.deepEqual(heard, [3, 4, 5, 6]);
	assert.equal(board.isSounding, true);
	stream.push(null);
	await waitUntil(() => !board.isSounding);
});
