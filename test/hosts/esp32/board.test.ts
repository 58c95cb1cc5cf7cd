/** Parts of a board over fakes of the SDK's. Their drivers are tested on an emulated chip (test/hosts/qemu). */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crash as crashSchema } from "../../../device/protocol/messages.js";
import { describeProblem, findProblem } from "../../../device/protocol/schema.js";
import { Bench, loadBoard } from "./board-bench.js";

async function start(natives: Readonly<Record<string, unknown>> = {}) {
	const bench = new Bench();
	Object.assign(bench.natives, natives);
	return { bench, device: await loadBoard("dev-1", bench) };
}

test("the reset reason has the name of ESP-IDF's esp_reset_reason_t by number", async () => {
	for (const [number, name] of [
		[-1, "UNKNOWN"],
		[1, "POWERON"],
		[3, "SW"],
		[6, "TASK_WDT"],
		[9, "BROWNOUT"],
		[11, "USB"],
		[15, "CPU_LOCKUP"],
		// A later ESP-IDF.
		[16, "UNKNOWN"],
	] as const) {
		const { device } = await start({ esp_reset_reason: number });
		assert.equal(new device.system({}).resetReason, `${name}_RESET`);
	}
});

test("a crash report has its texts, and the location if XS knows it", async () => {
	const texts = ["1a2b3c4d", "exception", "Error", "at f (/src/device/main.ts:12)", "1.4.0", "one\n"];
	const board_crash_text = (index: number) => texts[index];
	const { device } = await start({ board_crash_text, board_crash_uptime: 61 });
	const memory = new device.crash({});
	const crash = memory.read();
	assert.equal(describeProblem(findProblem(crashSchema, crash)), "nothing is wrong");
	assert.deepEqual(crash, {
		id: "1a2b3c4d",
		kind: "exception",
		message: "Error",
		file: "/src/device/main.ts",
		line: 12,
		stack: "at f (/src/device/main.ts:12)",
		firmware_version: "1.4.0",
		uptime_seconds: 61,
		trace: "one\n",
	});
	texts[0] = "";
	assert.equal(memory.read(), undefined);
});

test("a confirmation that flash did not store is reported", async () => {
	for (const [esp_ota_mark_app_valid_cancel_rollback, isConfirmed] of [
		[0, true],
		[-1, false],
	] as const) {
		const { device } = await start({ esp_ota_mark_app_valid_cancel_rollback });
		assert.equal(new device.update.boot({}).confirm(), isConfirmed);
	}
});

describe("update slot", () => {
	test("reports the problem found by the task that selects the image, once it has ended", async () => {
		const { bench, device } = await start({ board_update_is_selecting: 1, board_update_result: 0x1503 });
		bench.natives.esp_err_to_name = (code: number) => `error ${code}`;
		const ends: unknown[] = [];
		const slot = new device.update.slot({});
		slot.open();
		slot.complete((problem) => ends.push(problem));
		const [poll] = bench.timers;
		poll?.();
		assert.deepEqual(ends, []);
		bench.natives.board_update_is_selecting = 0;
		poll?.();
		assert.deepEqual([ends, bench.timers], [["error 5379"], []]);
	});

	test("is written from a part of a buffer, and reports the names of ESP-IDF's errors", async () => {
		const { bench, device } = await start({ esp_err_to_name: (code: number) => `error ${code}` });
		const written: unknown[] = [];
		bench.natives.board_update_write = (_: ArrayBuffer, from: number, length: number) => {
			written.push(from, length);
			return 0;
		};
		const slot = new device.update.slot({});
		slot.open();
		slot.write(new Uint8Array(100).subarray(10, 30));
		assert.deepEqual(written, [10, 20]);
		bench.natives.board_update_write = 0x105;
		assert.throws(() => slot.write(new Uint8Array(1)), /^Error: error 261$/);
	});

	test("rejects data while it is not open", async () => {
		const { bench, device } = await start();
		const slot = new device.update.slot({});
		slot.open();
		bench.natives.board_update_open = 0x1504;
		bench.natives.esp_err_to_name = () => "ESP_ERR_OTA_ROLLBACK_INVALID_STATE";
		assert.throws(() => slot.open(), /ROLLBACK_INVALID_STATE/);
		assert.throws(() => slot.write(new Uint8Array(1)), /not open/);
		assert.throws(() => slot.complete(() => {}), /not open/);
	});
});

describe("settings", () => {
	const storage = "embedded:storage/key-value";

	test("of another type count as not set", async () => {
		const { bench, device } = await start();
		for (const answer of [40, new TypeError("mismatch")]) {
			bench.answers.set(`${storage} read`, answer);
			assert.equal(new device.storage.settings({}).read("volume"), undefined);
		}
	});

	for (const [isReadOnly, mode, result] of [
		[0, "r+", 0],
		[1, "r", 0],
		[1, "r", -1],
	] as const)
		test(`are opened as "${mode}" and ${isReadOnly ? "erased with the whole NVS" : "not erased"}: ${result}`, async () => {
			let erased = 0;
			const { bench, device } = await start({
				board_nvs_is_read_only: isReadOnly,
				board_nvs_erase: () => {
					erased += 1;
					return result;
				},
				esp_err_to_name: "ESP_FAIL",
			});
			const settings = new device.storage.settings({});
			assert.match(
				bench.calls.join(),
				new RegExp(`${storage} open .*"path":"settings".*"mode":"${mode}"`.replace("+", "\\+")),
			);
			assert.equal(bench.traced.join("").includes("NVS"), isReadOnly === 1);
			settings.erase?.();
			assert.equal(erased, isReadOnly);
			assert.equal(bench.traced.join("").includes("ESP_FAIL"), result !== 0);
		});
});
