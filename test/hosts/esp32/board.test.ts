import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Host } from "../../../device/host.js";
import { boardModels, models } from "../../../device/protocol/models.js";
import { tuning } from "../../../hosts/proto-1/pins.js";
import { Bench, loadBoard } from "./board-bench.js";

async function proto1(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("proto-1", bench) };
}

for (const model of models)
	describe(`device of a ${model}`, () => {
		test("has the parts and the number of pixels given in device/protocol/models.ts", async () => {
			const bench = new Bench();
			const { peripheral } = await loadBoard(model.toLowerCase(), bench);
			const common = ["button", "ledRing", "audioOutput", "codec"];
			const { parts, pixels } = boardModels[model];
			assert.deepEqual(Object.keys(peripheral).sort(), [...common, ...parts].sort());
			new peripheral.ledRing({});
			assert.match(bench.calls.join(), new RegExp(`mc/ffi board_ring_open \\d+ ${pixels} `));
		});
	});

/**
 * Each object of the SDK's FFI class has every function as an own property, 200 slots of XS's heap. In QEMU that was
 * all an update over wss had.
 */
for (const folder of ["proto-1", "dev-1"])
	test(`${folder}: all parts share one object of foreign functions`, async () => {
		const bench = new Bench();
		const { storage, system, crash, trace, update, network, peripheral } = await loadBoard(folder, bench);
		const { button, touch } = peripheral;
		for (const part of [storage.settings, system, crash, trace, update.boot]) if (part) new part({});
		new network.wifi({ onChanged: () => {} });
		const slot = new update.slot({});
		slot.open();
		slot.complete(() => {});
		for (const part of Object.values(button)) new part({ onReadable: () => {} });
		if (touch) new touch({});
		new peripheral.ledRing({});
		assert.equal(bench.calls.filter((text) => text === "mc/ffi new").length, 1);
	});

describe("amplifier", () => {
	const options = { sampleRate: 16_000, channels: 1, bitsPerSample: 16, onWritable: () => {} } as const;

	test("is switched on after the output and off before it, with its start-up time before the first sample", async () => {
		const { bench, device } = await proto1();
		const output = new device.peripheral.audioOutput(options);
		assert.equal(output.leadInMs, tuning.amplifierStartMs);
		assert.ok(
			tuning.amplifierStartMs >= 100 && tuning.amplifierStartMs <= 150,
			`${tuning.amplifierStartMs} ms`,
		);
		bench.forget();
		output.start();
		output.stop();
		assert.deepEqual(bench.calls, [
			"embedded:io/audio/out start",
			"embedded:io/digital write 1",
			"embedded:io/digital write 0",
			"embedded:io/audio/out stop",
		]);
	});
});

describe("probation of a new image", () => {
	test("ends once it is confirmed, if flash could store that", async () => {
		const { bench, device } = await proto1();
		const state = new device.update.boot({});
		bench.natives.board_is_pending_verify = 1;
		assert.equal(state.isPendingVerify, true);
		assert.equal(state.confirm(), true);
		bench.natives.esp_ota_mark_app_valid_cancel_rollback = -1;
		assert.equal(state.confirm(), false);
		bench.natives.board_is_pending_verify = 0;
		assert.equal(state.isPendingVerify, false);
	});
});

describe("stored settings", () => {
	test("of another type count as not set", async () => {
		const { bench, device } = await proto1();
		bench.stored.set("volume", 40);
		assert.equal(new device.storage.settings({}).read("volume"), undefined);
	});
});

describe("name lookup", () => {
	test("of an address sends no query, and reports its result in a later turn", async () => {
		const { bench, device } = await proto1();
		const heard: string[] = [];
		const onResolved = (host: string, address: string) => heard.push(`${host} ${address}`);
		new device.network.dns({}).resolve({ host: "192.168.1.20", onResolved, onError: () => {} });
		assert.deepEqual([heard, bench.made.get("net")], [[], undefined]);
		bench.runTimers();
		assert.deepEqual(heard, ["192.168.1.20 192.168.1.20"]);
	});

	test("reports a failure to start in a later turn", async () => {
		const { bench, device } = await proto1();
		bench.failing.add("net resolve");
		let errors = 0;
		const onError = () => {
			errors += 1;
		};
		new device.network.dns({}).resolve({ host: "gateway", onResolved: () => {}, onError });
		assert.equal(errors, 0);
		bench.runTimers();
		assert.equal(errors, 1);
	});
});

describe("time query", () => {
	async function ask() {
		const { bench, device } = await proto1();
		const heard: (number | undefined)[] = [];
		const query = (server?: string) =>
			new device.network.time({ server, onTime: (seconds) => heard.push(seconds) });
		const answer = (message: number, value?: number) => {
			const sntp = bench.made.get("sntp")?.at(-1);
			assert.ok(typeof sntp === "object" && sntp !== null, "no SNTP client was started");
			Reflect.apply(Reflect.get(sntp, "answer"), undefined, [message, value]);
		};
		return { bench, heard, query, answer };
	}

	test("reports only the first response", async () => {
		const { heard, query, answer } = await ask();
		query();
		answer(2);
		answer(1, 1_790_000_000);
		answer(-1);
		assert.deepEqual(heard, [1_790_000_000]);
	});

	test("reports in a later turn if it cannot be sent", async () => {
		const { bench, heard, query } = await ask();
		bench.failing.add("sntp new");
		query();
		assert.deepEqual(heard, []);
		bench.runTimers();
		assert.deepEqual(heard, [undefined]);
	});

	test("reports nothing after close, and closes once", async () => {
		const { bench, heard, query, answer } = await ask();
		const asked = query();
		asked.close();
		asked.close();
		answer(1, 1_790_000_000);
		assert.deepEqual(heard, []);
		assert.equal(bench.calls.filter((call) => call === "sntp close").length, 1);
	});
});

describe("inactive slot", () => {
	for (const [result, problem] of [
		[0, undefined],
		[0x1503, "ESP_ERR_OTA_VALIDATE_FAILED"],
	] as const)
		test(`is selected by a separate task, which is polled until it ends: ${result}`, async () => {
			const { bench, device } = await proto1();
			const ends: unknown[] = [];
			const slot = new device.update.slot({});
			slot.open();
			bench.forget();
			bench.natives.board_update_is_selecting = 1;
			slot.complete((...values) => ends.push(values));
			assert.ok(bench.calls.includes("mc/ffi board_update_select"), `calls: ${bench.calls}`);
			for (let turn = 0; turn < 3; turn++) for (const timer of [...bench.timers]) timer();
			assert.deepEqual(ends, []);
			bench.natives.board_update_is_selecting = 0;
			bench.natives.board_update_result = result;
			bench.natives.esp_err_to_name = (code: number) => (code === 0x1503 ? problem : "another");
			for (const timer of [...bench.timers]) timer();
			assert.deepEqual(ends, [[problem]]);
			assert.deepEqual(bench.timers, []);
		});

	test("is written from a part of a buffer, and reports the names of ESP-IDF's errors", async () => {
		const { bench, device } = await proto1();
		bench.natives.esp_err_to_name = (code: number) => `error ${code}`;
		const slot = new device.update.slot({});
		slot.open();
		bench.forget();
		slot.write(new Uint8Array(100).subarray(10, 30));
		assert.deepEqual(bench.calls, ["mc/ffi board_update_write {} 10 20"]);
		bench.natives.board_update_write = 0x105;
		assert.throws(() => slot.write(new Uint8Array(1)), /^Error: error 261$/);
	});

	test("rejects updates while the running image is unconfirmed", async () => {
		const { bench, device } = await proto1();
		const slot = new device.update.slot({});
		slot.open();
		bench.natives.board_update_open = 0x1504;
		bench.natives.esp_err_to_name = () => "ESP_ERR_OTA_ROLLBACK_INVALID_STATE";
		assert.throws(() => slot.open(), /ROLLBACK_INVALID_STATE/);
		assert.throws(() => slot.write(new Uint8Array(1)), /not open/);
		assert.throws(() => slot.complete(() => {}), /not open/);
		slot.close();
	});
});

describe("reset reason of a board", () => {
	async function resetReason(number: number): Promise<string> {
		const { bench, device } = await proto1();
		Object.assign(bench.natives, { esp_reset_reason: number, board_read_mac: () => {} });
		return new device.system({}).resetReason;
	}

	test("has the name of ESP-IDF's esp_reset_reason_t by number", async () => {
		const some = {
			1: "POWERON_RESET",
			3: "SW_RESET",
			6: "TASK_WDT_RESET",
			9: "BROWNOUT_RESET",
			11: "USB_RESET",
			15: "CPU_LOCKUP_RESET",
		};
		for (const [number, name] of Object.entries(some)) assert.equal(await resetReason(Number(number)), name);
	});

	test("of a later ESP-IDF is unknown", async () => {
		assert.equal(await resetReason(16), "UNKNOWN_RESET");
		assert.equal(await resetReason(-1), "UNKNOWN_RESET");
	});
});
