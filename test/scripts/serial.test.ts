import assert from "node:assert/strict";
import { symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SerialPort } from "../../scripts/boards/serial.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { openSerialLine, serialLineMissing } from "../support/serial-line.js";

test("reads a board's lines with any chunking, and sends it lines", {
	skip: serialLineMissing,
}, async (t) => {
	const board = await openSerialLine(t);
	const lines: string[] = [];
	const port = new SerialPort({ path: board.path, onLine: (line) => lines.push(line) });
	onEnd(t, () => port.close());
	board.print("Wi-Fi: K");
	const rest = Buffer.from("üche\r\n");
	board.print(rest.subarray(0, 1));
	board.print(rest.subarray(1));
	board.print("two\nthree\r\nunfinished");
	await waitUntil(() => lines.length === 3);
	assert.deepEqual(lines, ["Wi-Fi: Küche", "two", "three"]);
	port.write("play");
	await eventually(board.heard, (heard) => heard === "play\n");
});

test("delivers a long line whole to a slow reader, followed by the next lines", {
	skip: serialLineMissing,
}, async (t) => {
	const board = await openSerialLine(t);
	const port = new SerialPort({ path: board.path, onLine: () => {} });
	onEnd(t, () => port.close());
	const lines = ["a", "b", "c"].map((letter) => letter.repeat(8192));
	// The terminal buffers 4 KB for a reader, and rejects more until they are read.
	board.pause();
	for (const line of lines) port.write(line);
	board.resume();
	await eventually(board.heard, (heard) => heard === lines.map((line) => `${line}\n`).join(""));
});

test("reopens a port that disappears while its board restarts", {
	skip: serialLineMissing,
}, async (t) => {
	const path = join(await temporaryDirectory(t), "ttyACM0");
	const [first, second] = [await openSerialLine(t), await openSerialLine(t)];
	await symlink(first.path, path);
	const lines: string[] = [];
	const port = new SerialPort({ path, onLine: (line) => lines.push(line) });
	onEnd(t, () => port.close());
	first.print("before\n");
	await waitUntil(() => lines.length === 1);
	await unlink(path);
	await first.unplug();
	await waitUntil(() => !port.isOpen);
	port.write("lost");
	await symlink(second.path, path);
	await eventually(() => port.isOpen, Boolean);
	second.print("after\n");
	await waitUntil(() => lines.length === 2);
	assert.deepEqual(lines, ["before", "after"]);
	assert.equal(second.heard(), "");
});

test("rejects a path that is no serial port and names it", {
	skip: process.platform === "win32",
}, async (t) => {
	const path = join(await temporaryDirectory(t), "file");
	await writeFile(path, "");
	const opened = () => new SerialPort({ path, onLine: () => {} });
	assert.throws(opened, new RegExp(`${path} cannot be configured as a serial port`));
});
