/** Update of a board, C code compiled for this computer: writing the slot, and the task that verifies and selects the image. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";

/** Declarations from ESP-IDF v6.0's headers that the file needs; the harness defines the functions. */
const headers: Readonly<Record<string, string>> = {
	"app_update/include/esp_ota_ops.h": `#pragma once
#include "esp_partition.h"
typedef uint32_t esp_ota_handle_t;
const esp_partition_t *esp_ota_get_next_update_partition(const esp_partition_t *);
esp_err_t esp_ota_begin(const esp_partition_t *, size_t, esp_ota_handle_t *);
esp_err_t esp_ota_abort(esp_ota_handle_t);
esp_err_t esp_ota_set_boot_partition(const esp_partition_t *);
`,
	"esp_partition.h": `#pragma once
#include <stddef.h>
#include <stdint.h>
#define ESP_OK 0
typedef int esp_err_t;
typedef struct { int unused; } esp_partition_t;
esp_err_t esp_partition_erase_range(const esp_partition_t *, size_t, size_t);
esp_err_t esp_partition_write(const esp_partition_t *, size_t, const void *, size_t);
`,
	"freertos/FreeRTOS.h": "#define pdPASS 1\n#define tskIDLE_PRIORITY 0\n",
	"freertos/task.h": `#pragma once
typedef void (*TaskFunction_t)(void *);
int xTaskCreate(TaskFunction_t, const char *, int, void *, int, void *);
void vTaskDelete(void *);
`,
};

/** @returns lines that the harness prints */
function run(sanitizer: string, ...words: readonly string[]): readonly string[] {
	const program = compileC({
		sources: ["test/hosts/esp32/update-harness.c"],
		folders: ["hosts/esp32"],
		headers,
		sanitizers: [sanitizer, "-pthread"],
	});
	const { stdout, stderr } = spawnSync(program, words, { encoding: "utf8" });
	assert.equal(stderr, "");
	return stdout.trimEnd().split("\n");
}

test("erases blocks of 64 KB before the first write to each, and writes pieces of at most 4 KB from internal RAM", {
	skip,
}, () => {
	const firstBlock = Array.from({ length: 15 }, (_, index) => {
		const [at, from] = [4096 * (index + 1), 9 + 8 * index];
		return `write 1: 4096 bytes at ${at}, from ${from} to ${from + 7}`;
	});
	assert.deepEqual(run("-fsanitize=address,undefined", "write"), [
		"begin 1 with 65536 bytes",
		"free handle 7",
		"open 0",
		"write 1: 4096 bytes at 0, from 1 to 8",
		"result 0",
		...firstBlock,
		"result 0",
		"erase 1: 65536 bytes at 65536",
		"write 1: 4096 bytes at 65536, from 2 to 9",
		"write 1: 1 bytes at 69632, from 10 to 10",
		"result 0",
		"begin 1 with 65536 bytes",
		"free handle 7",
		"open 0",
		"write 1: 10 bytes at 0, from 0 to 0",
		"result 0",
		"write 1: 4096 bytes at 10, from 0 to 7",
		"result 105",
		"begin 1 with 65536 bytes",
		"open 1504",
	]);
});

test("verifies an image in a separate task, or in the same turn without memory for one, and keeps the result", {
	skip,
}, () => {
	assert.deepEqual(run("-fsanitize=thread"), [
		"selecting 1",
		"selecting 0, result 1503, in this turn 0",
		"selecting 0, result 1503, in this turn 1",
	]);
});
