/**
 * Start of a board with an NVS without a free page, which ESP-IDF refuses to open: C code compiled for this computer.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";
import { Bench, loadBoard } from "./board-bench.js";
import { readStrings } from "./nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "board-nvs-"));
after(() => rmSync(work, { recursive: true, force: true }));

/** Declarations from ESP-IDF v6.0's headers that the file needs; the harness defines the functions. */
const headers: Readonly<Record<string, string>> = {
	"esp_partition.h": `#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef enum { ESP_OK = 0, ESP_FAIL = -1, ESP_ERR_NVS_NOT_FOUND = 0x1102, ESP_ERR_NVS_NO_FREE_PAGES = 0x110d } esp_err_t;
typedef struct { uint32_t size; bool readonly; } esp_partition_t;
enum { ESP_PARTITION_TYPE_DATA = 1, ESP_PARTITION_SUBTYPE_DATA_NVS = 2 };
const esp_partition_t *esp_partition_find_first(int type, int subtype, const char *label);
esp_err_t esp_partition_read(const esp_partition_t *from, size_t offset, void *bytes, size_t size);
esp_err_t esp_partition_erase_range(const esp_partition_t *from, size_t offset, size_t size);
`,
	"esp_private/startup_internal.h":
		"#define BIT(n) (1 << (n))\n#define ESP_SYSTEM_INIT_FN(name, stage, cores, priority) static esp_err_t name(void)\n",
	"nvs_flash/include/nvs.h": `#pragma once
#include "esp_partition.h"
typedef uint32_t nvs_handle_t;
typedef enum { NVS_READONLY, NVS_READWRITE } nvs_open_mode_t;
esp_err_t nvs_open(const char *name, nvs_open_mode_t mode, nvs_handle_t *handle);
void nvs_close(nvs_handle_t handle);
`,
	"nvs_flash/include/nvs_flash.h": `#define NVS_DEFAULT_PART_NAME "nvs"
esp_err_t nvs_flash_init(void);
esp_err_t nvs_flash_init_partition_ptr(const esp_partition_t *partition);
esp_err_t nvs_flash_deinit(void);
esp_err_t nvs_flash_erase(void);
`,
};

let program = "";

/** @returns the state after the start, and the partition */
function start(image: Uint8Array, ...then: readonly "erase"[]): { state: string; after: Uint8Array } {
	const file = join(work, "nvs.bin");
	writeFileSync(file, image);
	const { stdout, stderr, status } = spawnSync(program, [file, ...then], { encoding: "utf8" });
	assert.equal(stderr, "");
	assert.equal(status, 0);
	return { state: stdout.trim(), after: readFileSync(file) };
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
		program = compileC({ sources: ["test/hosts/esp32/nvs-harness.c"], folders: ["hosts/esp32"], headers });
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

test("opens settings read-only without a free page and traces why", async () => {
	for (const [answer, mode] of [
		[0, "r+"],
		[1, "r"],
	] as const) {
		const bench = new Bench();
		const device = await loadBoard("dev-1", bench);
		bench.natives.board_nvs_is_read_only = answer;
		bench.forget();
		new device.storage.settings({});
		const opened = `embedded:storage/key-value open {"path":"settings","format":"string","mode":"${mode}"}`;
		assert.ok(bench.calls.includes(opened), bench.calls.join("\n"));
		assert.equal(bench.traced.join("").includes("NVS"), answer === 1);
	}
});

test("erases read-only settings with the whole NVS and traces the failure", async () => {
	for (const [readOnly, result] of [
		[0, 0],
		[1, 0],
		[1, -1],
	] as const) {
		const bench = new Bench();
		const device = await loadBoard("dev-1", bench);
		let count = 0;
		bench.natives.board_nvs_is_read_only = readOnly;
		Object.defineProperty(bench.natives, "board_nvs_erase", {
			get: () => {
				count += 1;
				return result;
			},
		});
		bench.natives.esp_err_to_name = "ESP_FAIL";
		const settings = new device.storage.settings({});
		bench.traced.length = 0;
		settings.erase?.();
		assert.equal(count, readOnly);
		assert.equal(bench.traced.join("").includes("ESP_FAIL"), result !== 0);
	}
});

test("the namespace in C is that of the settings", () => {
	const text = readFileSync(join(projectFolder, "hosts", "esp32", "board-nvs.c"), "utf8");
	assert.match(text, new RegExp(`#define NAMESPACE "${settingsNamespace}"`));
});
