/** End of an update on a board, C code compiled for this computer: a separate task verifies and selects the image. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";

/** Declarations from ESP-IDF v6.0's headers that the file needs; the harness defines the functions. */
const headers: Readonly<Record<string, string>> = {
	"app_update/include/esp_ota_ops.h": `#pragma once
typedef int esp_err_t;
typedef struct { int unused; } esp_partition_t;
const esp_partition_t *esp_ota_get_next_update_partition(const esp_partition_t *);
esp_err_t esp_ota_set_boot_partition(const esp_partition_t *);
`,
	"freertos/FreeRTOS.h": "#define pdPASS 1\n#define tskIDLE_PRIORITY 0\n",
	"freertos/task.h": `#pragma once
typedef void (*TaskFunction_t)(void *);
int xTaskCreate(TaskFunction_t, const char *, int, void *, int, void *);
void vTaskDelete(void *);
`,
};

test("verifies an image in a separate task, or in the same turn without memory for one, and keeps the result", {
	skip,
}, () => {
	const program = compileC({
		sources: ["test/hosts/esp32/update-harness.c"],
		folders: ["hosts/esp32"],
		headers,
		sanitizers: ["-fsanitize=thread", "-pthread"],
	});
	const { stdout, stderr } = spawnSync(program, { encoding: "utf8" });
	assert.equal(stderr, "");
	assert.deepEqual(stdout.split("\n"), [
		"selecting 1",
		"selecting 0, result 1503, in this turn 0",
		"selecting 0, result 1503, in this turn 1",
		"",
	]);
});
