/** Device in QEMU over fakes of the SDK's modules: real, simulated and inert parts. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Host } from "../../../device/host.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { pathOf, whyMissing } from "../../support/programs.js";
import { Bench, loadBoard } from "../esp32/board-bench.js";

const ethernet = "embedded:network/interface/ethernet";

async function qemu(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("qemu", bench) };
}

/** Simulates the link state of the network. */
function wire(bench: Bench, state: { connection: number; address?: string }): void {
	Object.assign(Object(bench.made.get(ethernet)?.at(-1)), state);
}

function change(bench: Bench, property: string): void {
	const { onChanged } = bench.optionsOf(ethernet);
	assert.ok(typeof onChanged === "function", "the network has no onChanged");
	onChanged(property);
}

describe("device in QEMU", () => {
	test("is a DEV-1 with an ESP32, and uses no hardware while its modules load", async () => {
		const { bench, device } = await qemu();
		assert.deepEqual(bench.calls, []);
		assert.equal(device.model, "DEV-1");
		assert.equal(device.chip, "esp32");
		const { haptics, ambientLight, touch } = device.peripheral;
		assert.deepEqual([haptics, ambientLight, touch], [undefined, undefined, undefined]);
	});

	test("has the boards' network, update, boot state, digest and settings", async () => {
		const { device } = await qemu();
		const board = await loadBoard("dev-1", new Bench());
		const names = ({ network, update, digest, storage, system }: Host) =>
			[network, update, digest, storage, { system }].map((parts) =>
				Object.entries(parts)
					.filter(([name]) => name !== "wifi")
					.map(([name, part]) => [name, Reflect.get(part, "name")]),
			);
		assert.deepEqual(names(device), names(board));
	});

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
	const skip = whyMissing("C compiler");

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
		const folder = mkdtempSync(join(tmpdir(), "qemu-buttons-"));
		after(() => rmSync(folder, { recursive: true, force: true }));
		const program = join(folder, "buttons");
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
		const words = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"];
		const own = ["-I", join(projectFolder, "hosts", "qemu"), "-x", "c", "-", "-o", program];
		const made = spawnSync(pathOf("C compiler"), [...words, ...own], { input: text, encoding: "utf8" });
		assert.equal(made.stderr, "");
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

	test("is usable with an address and reports an invented SSID and RSSI", async () => {
		const { bench, wifi, heard } = await connecting();
		wifi.connect({ SSID: "home", password: "correct horse" });
		assert.deepEqual(bench.calls, [`${ethernet} new {}`, `${ethernet} connect`]);
		assert.deepEqual([wifi.address, wifi.SSID, wifi.RSSI], [undefined, undefined, undefined]);
		wire(bench, { connection: 500, address: "10.0.2.15" });
		change(bench, "connection");
		assert.deepEqual(heard, ["connection"]);
		assert.deepEqual([wifi.connection, wifi.address, wifi.SSID, wifi.RSSI], [500, "10.0.2.15", "qemu", -1]);
	});

	test("sends its host name to the DHCP server each time it is constructed", async () => {
		const { bench, device } = await qemu();
		const wifi = new device.network.wifi({ onChanged: () => {} });
		wifi.configure({ hostname: "dev-1-a1b2c3" });
		for (let round = 1; round <= 2; round++) {
			wifi.connect({ SSID: "home" });
			wifi.disconnect();
		}
		const configured = bench.calls.filter(
			(text) => text === `${ethernet} configure {"hostname":"dev-1-a1b2c3"}`,
		);
		assert.equal(configured.length, 2);
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
