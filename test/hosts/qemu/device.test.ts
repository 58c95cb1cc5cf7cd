/** Device in QEMU over fakes of the SDK's modules: real, simulated and inert parts. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import type { Host } from "../../../device/host.js";
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";
import { Bench, loadBoard } from "../esp32/board-bench.js";

const ethernet = "embedded:network/interface/ethernet";

async function qemu(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("qemu", bench) };
}

describe("device in QEMU", () => {
	test("has inert peripherals", async () => {
		const { bench, device } = await qemu();
		const { ledRing, audioOutput, codec } = device.peripheral;
		const ring = new ledRing({});
		assert.equal(ring.length, 12);
		ring.setPixel(0, ring.makeRGB(255, 0, 0));
		ring.update();
		const output = new audioOutput({
			sampleRate: 16_000,
			channels: 1,
			bitsPerSample: 16,
			onWritable: () => {},
		});
		output.write(new Uint8Array(20_460));
		output.start();
		output.stop();
		const sound = new codec({});
		sound.volume = 30;
		sound.isMuted = false;
		assert.deepEqual([sound.isReady, sound.volume, sound.isMuted], [true, 30, false]);
		assert.deepEqual(bench.calls, []);
	});
});

describe("buttons in QEMU", () => {
	test("report each change once and separately, until they are closed", async () => {
		const { bench, device } = await qemu();
		const heard: string[] = [];
		const parts = Object.entries(device.peripheral.button).map(([name, part]) => {
			return { name, input: new part({ onReadable: () => heard.push(name) }) };
		});
		const polls = [...bench.timers];
		const poll = () => {
			for (const callback of polls) callback();
		};
		const levels = () => parts.map(({ input }) => input.read());
		assert.deepEqual(levels(), [0, 0, 0, 0]);
		bench.natives.qemu_buttons = 0b0101;
		for (let round = 0; round < 3; round++) poll();
		assert.deepEqual(levels(), [1, 0, 1, 0]);
		bench.natives.qemu_buttons = 0b0100;
		poll();
		const [first, second, third] = parts.map(({ name }) => name);
		assert.deepEqual([first, second, third], ["play", "mute", "volumeUp"]);
		assert.deepEqual(heard, [first, third, first]);
		for (const { input } of parts) input.close();
		assert.deepEqual(bench.timers, []);
	});

	test("leave the serial port to the firmware, which writes whole packets to it", async () => {
		const { bench, device } = await qemu();
		assert.ok(device.serial, "the device has no serial port");
		const port = new device.serial({});
		bench.natives.qemu_serial_read = 3;
		bench.forget();
		assert.equal(port.read(new Uint8Array(8).subarray(2)), 3);
		port.write(Uint8Array.of(1, 2, 3, 4).subarray(1));
		assert.deepEqual(bench.calls, ["mc/ffi qemu_serial_read {} 2 6", "mc/ffi board_serial_write {} 3"]);
	});

	test("are pressed and released by lines on the serial port, which the firmware reads too", {
		skip,
	}, () => {
		const text = `#include "console-buttons.c"
#include <unistd.h>
uint32_t board_serial_read(uint8_t *buffer, uint32_t offset, uint32_t size) {
	ssize_t length = read(STDIN_FILENO, buffer + offset, size);
	return length > 0 ? (uint32_t)length : 0;
}
int main(void) {
	uint8_t bytes[2000];
	printf("%x ", (unsigned)qemu_buttons());
	fwrite(bytes, 1, qemu_serial_read(bytes, 0, sizeof(bytes)), stdout);
	return 0;
}
`;
		const program = compileC({ sources: text, folders: ["hosts/qemu"] });
		const press = (button: string, pressed = true) => JSON.stringify({ button, pressed });
		for (const [lines, pressed] of [
			[[], "0"],
			[["play", "mute", "volumeUp", "volumeDown"].map((name) => press(name)), "f"],
			[[press("play"), press("mute"), press("play", false)], "2"],
			[["", "x".repeat(5000), '{"button":"play"', press("stop"), press("volumeDown")], "8"],
			[[`${press("mute")}\r`], "2"],
			[["IMPROV\x01\x03\x02\x02\x00\xe5", press("mute"), "IMPROV\x01"], "2"],
		] as const) {
			const input = lines.map((line) => `${line}\n`).join("");
			const { stdout, stderr } = spawnSync(program, { input, encoding: "latin1" });
			assert.equal(stderr, "");
			// A full buffer is dropped entirely.
			const kept = input.length === 0 ? 0 : ((input.length - 1) % 640) + 1;
			assert.equal(stdout, `${pressed} ${input.slice(input.length - kept)}`);
		}
	});
});

describe("Ethernet instead of Wi-Fi", () => {
	async function connecting() {
		const { bench, device } = await qemu();
		const heard: string[] = [];
		const wifi = new device.network.wifi({ onChanged: (property) => heard.push(property) });
		return { bench, wifi, heard };
	}

	test("is down until connect() is called", async () => {
		const { bench, wifi } = await connecting();
		assert.equal(wifi.connection, 200);
		assert.deepEqual(bench.calls, []);
	});

	test("rejects a second attempt during the first", async () => {
		const { wifi } = await connecting();
		wifi.connect({ SSID: "qemu" });
		assert.throws(() => wifi.connect({ SSID: "qemu" }), /already connecting/);
	});

	test("can be constructed again after close(), without a callback in between", async () => {
		const { bench, wifi } = await connecting();
		wifi.connect({ SSID: "qemu" });
		bench.forget();
		wifi.disconnect();
		assert.equal(wifi.connection, 200);
		wifi.disconnect();
		wifi.connect({ SSID: "qemu" });
		assert.deepEqual(bench.calls, [`${ethernet} close`, `${ethernet} new {}`, `${ethernet} connect`]);
	});

	test("reports an address that it still has in a later turn, which the SDK does not", async () => {
		const { bench, wifi, heard } = await connecting();
		bench.answers.set(`${ethernet} connection`, 500);
		wifi.connect({ SSID: "qemu" });
		assert.deepEqual(heard, []);
		assert.deepEqual(bench.calls, [`${ethernet} new {}`]);
		bench.runTimers();
		assert.deepEqual(heard, ["connection"]);
	});

	test("does not call back if it is closed in that turn", async () => {
		const { bench, wifi, heard } = await connecting();
		bench.answers.set(`${ethernet} connection`, 500);
		wifi.connect({ SSID: "qemu" });
		wifi.close();
		bench.runTimers();
		assert.deepEqual(heard, []);
	});
});
