/**
 * Start of a board with an NVS without a free page, which ESP-IDF rejects to open: C code compiled for this computer.
 */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
	encodeNamespace,
	encodePageHeader,
	encodeString,
	entryBytes,
	entryOffset,
	entryState,
	pageBytes,
	setEntryState,
	stateTableBytes,
	stateTableOffset,
} from "../../../hosts/esp32/nvs-format.js";
import { makeNvsImage, settingsNamespace } from "../../../hosts/esp32/nvs-image.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { assertSameBytes } from "../../support/bytes.js";
import { compileHarness, runC, withoutCompiler as skip } from "../../support/c-program.js";
import { readStrings } from "./nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "board-nvs-"));
after(() => rmSync(work, { recursive: true, force: true }));

let program = "";

/** @returns the state after the start, and the partition */
function start(image: Uint8Array, ...then: readonly "erase"[]): { state: string; after: Uint8Array } {
	const file = join(work, "nvs.bin");
	writeFileSync(file, image);
	const state = runC(program, "", file, ...then)
		.toString()
		.trim();
	return { state, after: readFileSync(file) };
}

const byteLength = 0x10000;
const pageCount = byteLength / pageBytes;
const values = { ssid: "home", gateway: "wss://gateway.example/device", ca: "A".repeat(3996) };

/** All pages besides the settings are in use; each has one item of another namespace, which may be erased. */
function withoutFreePage(state: number, settings: Readonly<Record<string, string>> | undefined): Uint8Array {
	const image = settings
		? makeNvsImage({ byteLength, namespace: settingsNamespace, values: settings })
		: new Uint8Array(byteLength).fill(0xff);
	for (let index = 0; index < pageCount; index++) {
		const page = image.subarray(index * pageBytes, (index + 1) * pageBytes);
		if (page[0] !== 0xff) continue;
		page.set(encodePageHeader(index));
		const item = index === 15 ? encodeNamespace("other", 9) : encodeString(9, `key${index}`, "foreign");
		page.set(item, entryOffset(0));
		const states = page.subarray(stateTableOffset, stateTableOffset + stateTableBytes);
		for (let entry = 0; entry < item.byteLength / entryBytes; entry++) setEntryState(states, entry, state);
	}
	return image;
}

describe("start of a board's NVS", { skip }, () => {
	before(() => {
		program = compileHarness("nvs-harness.c", "board-nvs.c");
	});

	test("leaves it unopened for main.c if a page is free", () => {
		for (const image of [
			makeNvsImage({ byteLength, namespace: settingsNamespace, values }),
			new Uint8Array(byteLength).fill(0xff),
		]) {
			const { state, after } = start(image);
			assert.equal(state, "closed");
			assert.deepEqual(Buffer.from(after), Buffer.from(image));
		}
	});

	test("erases one page with only erased entries if no page is free", () => {
		const image = withoutFreePage(entryState.erased, values);
		const { state, after } = start(image);
		assert.equal(state, "open");
		assert.deepEqual(Object.fromEntries(readStrings(after, settingsNamespace)), values);
		const changed = Array.from({ length: pageCount }, (_, index) => index * pageBytes).filter(
			(at) => Buffer.compare(after.subarray(at, at + pageBytes), image.subarray(at, at + pageBytes)) !== 0,
		);
		assert.equal(changed.length, 1);
	});

	test("opens it read-only and erases nothing if every page has entries", () => {
		const image = withoutFreePage(entryState.written, values);
		const { state, after } = start(image);
		assert.equal(state, "read-only");
		assert.deepEqual(Buffer.from(after), Buffer.from(image));
	});

	test("can erase a read-only NVS as a whole", () => {
		const { state, after } = start(withoutFreePage(entryState.written, values), "erase");
		assert.equal(state, "read-only");
		assertSameBytes(after, new Uint8Array(after.length).fill(0xff));
	});

	test("erases it if every page has entries and none belongs to the settings", () => {
		const { state, after } = start(withoutFreePage(entryState.written, undefined));
		// main.c opens it.
		assert.equal(state, "closed");
		assertSameBytes(after, new Uint8Array(after.length).fill(0xff));
	});
});

test("the namespace in C is that of the settings", () => {
	const text = readFileSync(join(projectFolder, "hosts", "esp32", "board-nvs.c"), "utf8");
	assert.match(text, new RegExp(`#define NAMESPACE "${settingsNamespace}"`));
});
