import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Host } from "../../../device/host.js";
import { boardModels, models } from "../../../device/protocol/models.js";
import { settingsNamespace } from "../../../hosts/esp32/nvs-image.js";
import { pins, tuning } from "../../../hosts/proto-1/pins.js";
import { Bench, loadBoard } from "./board-bench.js";

async function proto1(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("proto-1", bench) };
}

for (const model of models)
	describe(`device of a ${model}`, () => {
		test("uses no hardware while its modules load", async () => {
			const bench = new Bench();
			const device = await loadBoard(model.toLowerCase(), bench);
			assert.deepEqual(bench.calls, []);
			assert.equal(device.model, model);
			assert.equal(device.chip, "esp32s3");
		});

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
for (const folder of ["proto-1", "dev-1", "qemu"])
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

describe("parts of a board", () => {
	test("configure each button as an input at its own pin that reads 1 while pressed to ground", async () => {
		const { bench, device } = await proto1();
		for (const name of ["play", "mute", "volumeUp", "volumeDown"] as const) {
			bench.forget();
			new device.peripheral.button[name]({ onReadable: () => {} });
			const options = { pin: pins.button[name], mode: "pull-up", activeLow: true, edge: 3 };
			assert.deepEqual(bench.calls, [`embedded:io/digital new ${JSON.stringify(options)}`]);
		}
	});

	test("show the pixels on the ring's pin", async () => {
		const { bench, device } = await proto1();
		const strip = new device.peripheral.ledRing({});
		assert.equal(strip.length, 12);
		strip.setPixel(11, strip.makeRGB(255, 1, 128));
		strip.update();
		strip.close();
		assert.deepEqual(bench.calls.slice(1), [
			`mc/ffi board_ring_open ${pins.ledRing} 12 "GRB"`,
			`mc/ffi board_ring_set 11 ${0xff0180}`,
			"mc/ffi board_ring_show",
			"mc/ffi board_ring_close",
		]);
		assert.deepEqual(bench.traced, []);
	});

	test("report a ring that cannot be started", async () => {
		const { bench, device } = await proto1();
		bench.natives.board_ring_open = 0x105;
		new device.peripheral.ledRing({});
		assert.deepEqual(bench.traced, ["LED ring not started: ESP-IDF error 0x105\n"]);
	});

	test("drive the motor with an inaudible PWM frequency", async () => {
		const { bench, device } = await proto1();
		assert.ok(device.peripheral.haptics, "the board has no haptics");
		new device.peripheral.haptics({});
		assert.deepEqual(bench.calls, ['embedded:io/pwm new {"pin":5,"hz":20000}']);
	});

	test("measure light as raw counts over the whole range", async () => {
		const { bench, device } = await proto1();
		assert.ok(device.peripheral.ambientLight, "the board has no ambient light sensor");
		new device.peripheral.ambientLight({});
		const options = { pin: pins.ambientLight, esp32: { calibrated: false, attenuation: 12 } };
		assert.deepEqual(bench.calls, [`embedded:io/analog new ${JSON.stringify(options)}`]);
	});

	test("reach the codec by I2C at its pins", async () => {
		const { bench, device } = await proto1();
		const codec = new device.peripheral.codec({});
		assert.equal(codec.isReady, true);
		const options = { ...pins.codec, hz: 400_000, address: 0x18, timeout: 10 };
		assert.equal(bench.calls[0], `embedded:io/smbus new ${JSON.stringify(options)}`);
	});

	test("read 0 from a touch pad that cannot be measured", async () => {
		const { bench, device } = await proto1();
		bench.natives.board_touch_open = 0x103;
		assert.ok(device.peripheral.touch, "the board has no touch pad");
		const pad = new device.peripheral.touch({});
		assert.ok(bench.calls.includes(`mc/ffi board_touch_open ${pins.touch}`), `calls: ${bench.calls}`);
		assert.equal(pad.read(), 0);
		assert.equal(pad.threshold, tuning.touchThreshold);
		assert.match(bench.traced.join(""), /0x103/);
	});
});

describe("amplifier", () => {
	const options = { sampleRate: 16_000, channels: 1, bitsPerSample: 16, onWritable: () => {} } as const;

	test("is off at the start", async () => {
		const { bench, device } = await proto1();
		new device.peripheral.audioOutput(options);
		assert.deepEqual(bench.calls, [
			`embedded:io/digital new {"pin":${pins.amplifier},"mode":"output","initialValue":0}`,
			`embedded:io/audio/out new ${JSON.stringify(options)}`,
		]);
	});

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

	test("stays off if the output does not start", async () => {
		const { bench, device } = await proto1();
		const output = new device.peripheral.audioOutput(options);
		bench.failing.add("embedded:io/audio/out start");
		bench.forget();
		assert.throws(() => output.start());
		assert.deepEqual(bench.calls, ["embedded:io/audio/out start"]);
	});
});

describe("system information of a board", () => {
	test("is read when the host is constructed, in the units of the report", async () => {
		const { bench, device } = await proto1();
		Object.assign(bench.natives, {
			board_read_mac: (bytes: ArrayBuffer) => new Uint8Array(bytes).set([0x24, 0x0a, 0xc4, 0xa1, 0xb2, 0x0c]),
			board_read_image_id: (id: ArrayBuffer) =>
				new Uint8Array(id).set([0, 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd]),
			esp_get_idf_version: "v6.0",
			board_firmware_version: "1.4.0",
			board_firmware_build_time: 1_767_225_600,
			board_firmware_security_version: 3,
			esp_clk_cpu_freq: 240_000_000,
			board_flash_bytes: 16 * 1024 * 1024,
			board_psram_bytes: 8 * 1024 * 1024,
			esp_reset_reason: 6,
			board_uptime_ms: 2_160_000_123,
			esp_get_free_heap_size: 8_100_000,
			esp_get_minimum_free_heap_size: 7_900_000,
		});
		const system = new device.system({});
		assert.equal(system.macAddress, "24:0a:c4:a1:b2:0c");
		assert.equal(system.idfVersion, "v6.0");
		assert.equal(system.firmwareVersion, "1.4.0");
		assert.equal(system.imageId, "000123456789abcd");
		assert.equal(system.buildTime, 1_767_225_600);
		assert.equal(system.securityVersion, 3);
		assert.equal(system.cpuFrequencyMHz, 240);
		assert.equal(system.flashSizeMB, 16);
		assert.equal(system.psramSizeMB, 8);
		assert.equal(system.resetReason, "TASK_WDT_RESET");
		assert.equal(system.uptimeMs, 2_160_000_123);
		assert.equal(system.freeHeapBytes, 8_100_000);
		assert.equal(system.minFreeHeapBytes, 7_900_000);
		system.setTime(1_790_000_000);
		assert.ok(bench.calls.includes("time set 1790000000"), `calls: ${bench.calls}`);
		system.print("a line\n");
		assert.deepEqual(bench.calls.slice(-2), [
			'mc/ffi board_print "a line\\n"',
			'mc/ffi board_trace "a line\\n"',
		]);
		system.restart();
		assert.deepEqual(bench.calls.slice(-2), ["mc/ffi board_crash_expect_restart", "mc/ffi esp_restart"]);
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

	test("can be rolled back", async () => {
		const { bench, device } = await proto1();
		new device.update.boot({}).rollBack();
		assert.deepEqual(bench.calls.slice(-2), [
			"mc/ffi board_crash_expect_restart",
			"mc/ffi esp_ota_mark_app_invalid_rollback_and_reboot",
		]);
	});
});

describe("stored settings", () => {
	test("are read back as they were written", async () => {
		const { device } = await proto1();
		const store = new device.storage.settings({});
		store.write("volume", "40");
		assert.equal(store.read("volume"), "40");
		store.delete("volume");
		assert.equal(store.read("volume"), undefined);
	});

	test("of another type count as not set", async () => {
		const { bench, device } = await proto1();
		bench.stored.set("volume", 40);
		assert.equal(new device.storage.settings({}).read("volume"), undefined);
	});

	test("are in the namespace that flashing writes", async () => {
		const { bench, device } = await proto1();
		new device.storage.settings({});
		const [, path = ""] = /"path":"(\w+)"/.exec(bench.calls.join("\n")) ?? [];
		assert.equal(path, settingsNamespace);
	});
});

describe("name lookup", () => {
	function answerOf(bench: Bench): (host: string, address?: string) => void {
		const answer = bench.made.get("net")?.at(-1);
		assert.ok(typeof answer === "function", "no lookup was started");
		return (...values) => Reflect.apply(answer, undefined, values);
	}

	test("returns the address or an error", async () => {
		const { bench, device } = await proto1();
		const heard: string[] = [];
		const options = {
			host: "gateway.local",
			onResolved: (host: string, address: string) => heard.push(`${host} ${address}`),
			onError: () => heard.push("error"),
		};
		new device.network.dns({}).resolve(options);
		answerOf(bench)("gateway.local", "192.168.1.20");
		new device.network.dns({}).resolve(options);
		answerOf(bench)("gateway.local");
		assert.deepEqual(heard, ["gateway.local 192.168.1.20", "error"]);
	});

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

	test("stops exceptions of its listener", async () => {
		const { bench, device } = await proto1();
		const onResolved = () => {
			throw new Error("no socket left");
		};
		new device.network.dns({}).resolve({ host: "gateway", onResolved, onError: () => {} });
		answerOf(bench)("gateway", "10.0.0.2");
		assert.match(bench.traced.join(""), /no socket left/);
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

	test("reports undefined if no server responds", async () => {
		const { heard, query, answer } = await ask();
		query();
		answer(-1);
		assert.deepEqual(heard, [undefined]);
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

	test("uses the given server", async () => {
		const { bench, query } = await ask();
		query();
		query("time.example");
		assert.deepEqual(bench.calls, ['sntp new {"host":"pool.ntp.org"}', 'sntp new {"host":"time.example"}']);
	});
});

describe("inactive slot", () => {
	test("is not opened by its constructor", async () => {
		const { bench, device } = await proto1();
		new device.update.slot({});
		assert.deepEqual(bench.calls, []);
	});

	test("has a size, is written in order and can be read back", async () => {
		const { bench, device } = await proto1();
		const slot = new device.update.slot({});
		assert.equal(slot.byteLength, 0x1f0000);
		slot.open();
		slot.write(new Uint8Array(16_384));
		slot.read(new Uint8Array(32), 16_352);
		slot.complete(() => {});
		assert.deepEqual(bench.calls.slice(0, 6), [
			'embedded:storage/flash open {"path":"nextota"}',
			'embedded:update open 2031616 "a"',
			"embedded:update write 16384",
			"embedded:storage/flash read 32 16352",
			"embedded:update close",
			"embedded:storage/flash close",
		]);
	});

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

	test("is made from a patch by a decoder in C that reads the running firmware itself", async () => {
		const { bench, device } = await proto1();
		assert.ok(device.update.patchDecoder, "there is no decoder");
		const source = new device.update.running({});
		bench.forget();
		const decoder = new device.update.patchDecoder({ source, sourceBytes: 1000, resultBytes: 2000 });
		bench.answers.set("board/patch decode", 70);
		assert.equal(decoder.decode(new Uint8Array(2000), new Uint8Array(80), 60), 70);
		assert.deepEqual(bench.calls, ["board/patch new 1000 2000", "board/patch decode 2000 80 60"]);
	});

	test("is not selected if it is closed, and closes its resources once", async () => {
		const { bench, device } = await proto1();
		const slot = new device.update.slot({});
		slot.open();
		bench.forget();
		slot.close();
		slot.close();
		assert.deepEqual(bench.calls, ["embedded:update close", "embedded:storage/flash close"]);
	});

	test("can be opened again, which aborts the previous update", async () => {
		const { bench, device } = await proto1();
		const slot = new device.update.slot({});
		slot.open();
		bench.forget();
		slot.open();
		assert.deepEqual(bench.calls, ["embedded:update close", 'embedded:update open 2031616 "a"']);
	});

	test("rejects updates while the running image is unconfirmed", async () => {
		const { bench, device } = await proto1();
		bench.failing.add("embedded:update open");
		const slot = new device.update.slot({});
		assert.throws(() => slot.open());
		assert.throws(() => slot.write(new Uint8Array(1)), /not open/);
		assert.throws(() => slot.complete(() => {}), /not open/);
		slot.close();
	});
});

describe("digest", () => {
	test("is the SDK's SHA-256", async () => {
		const { bench, device } = await proto1();
		const bytes = new ArrayBuffer(32);
		bench.answers.set("crypt close", bytes);
		const digest = new device.digest.sha256({});
		digest.write(new Uint8Array(100).subarray(10, 20));
		assert.equal(digest.close(), bytes);
		assert.deepEqual(bench.calls, ['crypt new "SHA256"', "crypt write 10"]);
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
