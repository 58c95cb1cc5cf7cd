/**
 * Pins, partitions and ESP-IDF settings, which no compiler checks and which cannot be changed on a board in the
 * field.
 */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { boardModels, models } from "../../../device/protocol/models.js";
import { isRecord } from "../../../device/protocol/schema.js";
import type { BoardPins, Proto1Pins } from "../../../hosts/esp32/pins.js";
import { boardOf, writeSdkconfig } from "../../../scripts/boards/build.js";
import { readPartitions } from "../../../scripts/boards/flash-image.js";

const read = (path: string) => readFileSync(new URL(`../../../hosts/${path}`, import.meta.url), "utf8");

/** All GPIO numbers in it. */
function gpios(pins: object): number[] {
	return Object.values(pins).flatMap((value) => {
		if (isRecord(value)) return gpios(value);
		return typeof value === "number" ? [value] : [];
	});
}

for (const model of models) {
	const name = boardOf(model);
	const { pins }: { readonly pins: BoardPins & Partial<Proto1Pins> } = await import(
		`../../../hosts/${name}/pins.js`
	);

	test(`light sensor and touch pad of ${name} are at a pin of ADC1 and a touch channel, if it has them`, () => {
		const { ambientLight = 1, touch = 1 } = pins;
		assert.ok(ambientLight >= 1 && ambientLight <= 10, `hosts/${name}/pins.ts: ambientLight ${ambientLight}`);
		assert.ok(touch >= 1 && touch <= 14, `hosts/${name}/pins.ts: touch ${touch}`);
	});

	test(`pins of ${name} are used once each, and exclude those of flash, octal PSRAM, USB, console and strapping`, () => {
		const used = gpios(pins);
		assert.equal(new Set(used).size, used.length);
		// Four buttons, the ring, two for the codec, four for I2S and the amplifier.
		assert.equal(used.length, 12 + boardModels[model].parts.length);
		for (const pin of used) {
			assert.ok((pin >= 0 && pin <= 21) || (pin > 37 && pin <= 48), String(pin));
			assert.ok(![0, 3, 19, 20, 43, 44, 45, 46].includes(pin), String(pin));
		}
	});

	test(`pins of ${name} for I2S are the same in the manifest`, () => {
		const { defines } = JSON.parse(read(`${name}/manifest.json`));
		const { mck_pin, bck_pin, lr_pin, dataout_pin } = defines.audioOut.i2s;
		const { masterClock, bitClock, wordSelect, dataOut } = pins.i2s;
		assert.deepEqual([mck_pin, bck_pin, lr_pin, dataout_pin], [masterClock, bitClock, wordSelect, dataOut]);
	});
}

test("a PROTO-1 has haptics at GPIO 5, as gateway/api/interface.md says", () => {
	assert.match(read("proto-1/pins.ts"), /\thaptics: 5,/);
});

test("partitions of the boards never change, because boards in the field have them", () => {
	const csv = read("esp32/sdkconfig/partitions.csv");
	assert.deepEqual(
		readPartitions(csv).map(({ name, type, subtype, offset, size }) => [name, type, subtype, offset, size]),
		[
			["otadata", "data", "ota", 0x9000, 0x2000],
			["phy_init", "data", "phy", 0xb000, 0x1000],
			["nvs", "data", "nvs", 0x10000, 0x10000],
			["ota_0", "app", "ota_0", 0x20000, 0x700000],
			["ota_1", "app", "ota_1", 0x720000, 0x700000],
			["coredump", "data", "coredump", 0xe20000, 0x10000],
			["nvs_keys", "data", "nvs_keys", 0xe30000, 0x1000],
			["nvs_secure", "data", "nvs", 0xe31000, 0xf000],
			["sounds", "data", "littlefs", 0xe40000, 0x1c0000],
		],
	);
	const marked = csv.split("\n").filter((line) => /^\w.*,\s*encrypted$/.test(line));
	assert.deepEqual(
		marked.map((line) => line.split(",")[0]),
		["coredump", "nvs_keys"],
		"as ESP-IDF requires for flash encryption",
	);
});

function readSettings(): ReadonlyMap<string, string> {
	const folder = mkdtempSync(join(tmpdir(), "sdkconfig-"));
	after(() => rmSync(folder, { recursive: true, force: true }));
	const text = readFileSync(join(writeSdkconfig("0.0.0", folder, "dev-1"), "sdkconfig.defaults"), "utf8");
	const lines = text.split("\n");
	// The SDK's merge loses values with an equals sign and takes no comment for "not set".
	for (const line of lines) assert.ok(/^$|^# (?!CONFIG_)|^CONFIG_\w+=[^=]+$/.test(line), line);
	return new Map(
		lines.flatMap((line) => {
			const [, name, value] = /^CONFIG_(\w+)=(.*)$/.exec(line) ?? [];
			return name !== undefined && value !== undefined ? [[name, value] as const] : [];
		}),
	);
}

test("ESP-IDF settings hold the TCP socket's connections, and end a hang after 10 to 15 s", () => {
	const settings = readSettings();
	const connections = Number(/#define TCP_CONNECTIONS (\d+)/.exec(read("esp32/tcp/tcp-connection.h"))?.[1]);
	for (const [name, minimum] of Object.entries({
		ESP_TASK_WDT_TIMEOUT_S: 10,
		FREERTOS_ISR_STACKSIZE: 4096,
		LWIP_MAX_SOCKETS: connections,
		// Two windows of 8,192 bytes in segments.
		LWIP_TCP_RECVMBOX_SIZE: 12,
	}))
		assert.ok(Number(settings.get(name)) >= minimum, `${name} is ${settings.get(name)}`);
	assert.ok(Number(settings.get("ESP_TASK_WDT_TIMEOUT_S")) <= 15, "the watchdog waits too long");
});

test("the boards' receive window carries 60 KB/s at 50 ms, fits Wi-Fi's buffers, and is the virtual device's", () => {
	const settings = readSettings();
	const windowBytes = Number(settings.get("LWIP_TCP_WND_DEFAULT"));
	const buffers = Number(settings.get("ESP_WIFI_DYNAMIC_RX_BUFFER_NUM"));
	assert.ok(windowBytes >= 2 * 60_000 * 0.05 + 2 * 1436, `${windowBytes} bytes, with one lost segment`);
	// Two connections, with half as many buffers spare.
	assert.ok(3 * Math.ceil(windowBytes / 1436) <= 1.5 * buffers, `${buffers} buffers`);
	const [, virtual = ""] = /windowBytes = ([\d_]+)/.exec(read("virtual/node/simulated/tcp.ts")) ?? [];
	assert.equal(windowBytes, Number(virtual.replace("_", "")));
});

test("the typing of foreign functions equals the list in the manifests", () => {
	const manifests = ["esp32/manifest", "esp32/touch/manifest", "esp32/bring-up/manifest"].map(
		(name) => `${name}.json`,
	);
	const declared = manifests.flatMap((file) => Object.keys(JSON.parse(read(file)).ffi.functions)).sort();
	const typed = [...read("typings/xs.d.ts").matchAll(/^\t\t(\w+)\(/gm)].map(([, name]) => name);
	assert.deepEqual(typed, declared);
});

/** Maximum live size, measured in QEMU (hosts/README.md). */
const mostLive = { chunks: 62_800, slots: 2_497, stack: 434 };

test("the XS heap, which cannot grow, has twice the live size, and the sizes in README.md", () => {
	const { chunk, heap, stack, static: size } = JSON.parse(read("esp32/manifest.json")).creation;
	assert.deepEqual([chunk.incremental, heap.incremental, size], [0, 0, 0]);
	const sizes = { chunks: chunk.initial, slots: heap.initial, stack };
	for (const part of ["chunks", "slots", "stack"] as const)
		assert.ok(sizes[part] >= 2 * mostLive[part], `${part}: ${sizes[part]}`);
	const row = ["boards", ...[chunk.initial, heap.initial, stack].map((limit) => limit.toLocaleString("en"))];
	assert.ok(read("README.md").includes(`| ${row.join(" | ")} |`), row.join(" | "));
});
