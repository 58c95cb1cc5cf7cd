/**
 * Pins, partitions and ESP-IDF settings, which no compiler checks and which cannot be changed on a board in the
 * field.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { boardModels, models } from "../../../device/protocol/models.js";
import { isRecord } from "../../../device/protocol/schema.js";
import type { BoardPins } from "../../../hosts/esp32/pins.js";
import { pins as proto1 } from "../../../hosts/proto-1/pins.js";
import { flashBytes, partitions as virtualPartitions } from "../../../hosts/virtual/node/boot/partitions.js";
import { boardOf } from "../../../scripts/boards/build.js";
import { readPartitions } from "../../../scripts/boards/flash-image.js";
import { testMachine } from "../../support/programs.js";

const { IDF_PATH } = testMachine.environment;
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
	const { pins }: { readonly pins: BoardPins } = await import(`../../../hosts/${name}/pins.js`);
	describe(`pins of ${name}`, () => {
		test("are used once each", () => {
			const used = gpios(pins);
			assert.equal(new Set(used).size, used.length);
			// Four buttons, the ring, two for the codec, four for I2S and the amplifier.
			assert.equal(used.length, 12 + boardModels[model].parts.length);
		});

		test("exist on an ESP32-S3", () => {
			for (const pin of gpios(pins))
				assert.ok((pin >= 0 && pin <= 21) || (pin >= 26 && pin <= 48), String(pin));
		});

		test("are no strapping pins", () => {
			for (const strapping of [0, 3, 45, 46])
				assert.ok(!gpios(pins).includes(strapping), `GPIO ${strapping} is used`);
		});

		test("exclude those of flash, octal PSRAM, USB and the console", () => {
			for (const pin of gpios(pins)) {
				assert.ok(pin < 26 || pin > 37, String(pin));
				assert.ok(![19, 20, 43, 44].includes(pin), String(pin));
			}
		});

		test("for I2S are the same in the manifest", () => {
			const { defines } = JSON.parse(read(`${name}/manifest.json`));
			const { mck_pin, bck_pin, lr_pin, dataout_pin } = defines.audioOut.i2s;
			const { masterClock, bitClock, wordSelect, dataOut } = pins.i2s;
			assert.deepEqual([mck_pin, bck_pin, lr_pin, dataout_pin], [masterClock, bitClock, wordSelect, dataOut]);
		});
	});
}

describe("pins of PROTO-1 only", () => {
	test("connect haptics to GPIO 5, as gateway/api/interface.md says", () => assert.equal(proto1.haptics, 5));

	test("connect the light sensor to ADC1, which Wi-Fi does not use", () => {
		assert.ok(proto1.ambientLight >= 1 && proto1.ambientLight <= 10, `GPIO ${proto1.ambientLight}`);
	});

	test("connect the pad to a touch channel", () =>
		assert.ok(proto1.touch >= 1 && proto1.touch <= 14, `GPIO ${proto1.touch}`));
});

const flashes = { esp32: 16, qemu: 4 } as const;

for (const [host, flashMB] of Object.entries(flashes))
	describe(`partitions of ${host}`, () => {
		const partitions = readPartitions(read(`${host}/sdkconfig/partitions.csv`));
		const named = (subtype: string) => partitions.filter((partition) => partition.subtype === subtype);

		test("are two slots of the same size, without a factory image", () => {
			const apps = partitions.filter((partition) => partition.type === "app");
			assert.deepEqual(
				apps.map((partition) => partition.subtype),
				["ota_0", "ota_1"],
			);
			assert.equal(apps[0]?.size, apps[1]?.size);
		});

		test("align slots to 64 KB and others to 4 KB", () => {
			for (const { type, name, offset, size } of partitions) {
				assert.equal(offset % (type === "app" ? 0x10000 : 0x1000), 0, name);
				assert.equal(size % 0x1000, 0, name);
			}
		});

		test("start after boot loader and table, do not overlap, and end within the flash", () => {
			let end = 0x9000;
			for (const { name, offset, size } of partitions) {
				assert.ok(offset >= end, name);
				end = offset + size;
			}
			assert.ok(end <= flashMB * 1024 * 1024, `partitions end at ${end}`);
		});

		test("include two sectors of boot state, two copies of the settings, and 64 KB for a core dump", () => {
			assert.equal(named("ota")[0]?.size, 0x2000);
			const [nvs] = named("nvs");
			assert.deepEqual([nvs?.name, nvs?.size], ["nvs", 0x10000], "nvs_flash_init opens the one of that name");
			assert.equal(named("coredump")[0]?.size, 0x10000);
		});
	});

describe("partitions of the boards", () => {
	const csv = read("esp32/sdkconfig/partitions.csv");
	const all = readPartitions(csv);
	const named = (name: string) => all.find((partition) => partition.name === name);

	test("never change, because boards in the field have them", () => {
		assert.deepEqual(
			all.map(({ name, type, subtype, offset, size }) => [name, type, subtype, offset, size]),
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
	});

	test("have room for an encrypted NVS: a sector of keys, and three pages or more", () => {
		assert.ok((named("nvs_keys")?.size ?? 0) >= 0x1000, `${named("nvs_keys")?.size} bytes`);
		assert.ok((named("nvs_secure")?.size ?? 0) >= 0x3000, `${named("nvs_secure")?.size} bytes`);
	});

	test("mark core dump and keys for a chip with flash encryption, as ESP-IDF requires", () => {
		const marked = csv.split("\n").filter((line) => /^\w.*,\s*encrypted$/.test(line));
		assert.deepEqual(
			marked.map((line) => line.split(",")[0]),
			["coredump", "nvs_keys"],
		);
	});

	test("are in the order of a virtual device's, and QEMU's are the first of them", () => {
		const names = all.map(({ name }) => name);
		assert.deepEqual(Object.keys(virtualPartitions), names);
		const inQemu = readPartitions(read("qemu/sdkconfig/partitions.csv")).map(({ name }) => name);
		assert.deepEqual(inQemu, names.slice(0, inQemu.length));
	});
});

describe("partitions of a virtual device", () => {
	test("are whole sectors without overlap that fill the flash, with slots of the same size", () => {
		let end = 0x9000;
		for (const [name, { offset, byteLength }] of Object.entries(virtualPartitions)) {
			assert.ok(offset >= end, name);
			assert.equal((offset | byteLength) % 0x1000, 0, name);
			end = offset + byteLength;
		}
		assert.equal(end, flashBytes);
		assert.equal(virtualPartitions.ota_0.byteLength, virtualPartitions.ota_1.byteLength);
		assert.equal(virtualPartitions.nvs.byteLength, 0x10000);
	});
});

function settingsOf(host: string): ReadonlyMap<string, string> {
	return new Map(
		read(`${host}/sdkconfig/sdkconfig.defaults`)
			.split("\n")
			.flatMap((line) => {
				const [, name, value] = /^CONFIG_(\w+)=(.*)$/.exec(line) ?? [];
				return name !== undefined && value !== undefined ? [[name, value] as const] : [];
			}),
	);
}

for (const host of Object.keys(flashes))
	describe(`ESP-IDF settings for ${host}`, () => {
		const lines = read(`${host}/sdkconfig/sdkconfig.defaults`).split("\n");
		const settings = settingsOf(host);

		test("survive the SDK's merge: no value with an equals sign, nothing disabled by a comment", () => {
			for (const line of lines)
				assert.ok(line === "" || line.startsWith("# ") || /^CONFIG_\w+=[^=]+$/.test(line), line);
			for (const line of lines) assert.doesNotMatch(line, /^# CONFIG_/);
		});

		test("restore the previous image after any failure of a new one", () => {
			const needed = {
				BOOTLOADER_APP_ROLLBACK_ENABLE: "y",
				BOOTLOADER_SKIP_VALIDATE_ALWAYS: "n",
				ESP_SYSTEM_PANIC_GDBSTUB: "n",
				ESP_SYSTEM_PANIC_PRINT_REBOOT: "y",
				ESP_TASK_WDT_EN: "y",
				ESP_TASK_WDT_INIT: "y",
				ESP_TASK_WDT_PANIC: "y",
			};
			for (const [name, value] of Object.entries(needed)) assert.equal(settings.get(name), value, name);
			const seconds = Number(settings.get("ESP_TASK_WDT_TIMEOUT_S"));
			assert.ok(seconds >= 10 && seconds <= 15, `${seconds} s`);
		});

		test("have names that ESP-IDF knows: others are ignored silently", {
			skip: IDF_PATH ? undefined : "IDF_PATH is not set",
		}, () => {
			const components = join(IDF_PATH ?? "", "components");
			const known = readdirSync(components, { recursive: true, encoding: "utf8" })
				.filter((file) => /(^|[\\/])Kconfig[^\\/]*$/.test(file))
				.map((file) => readFileSync(join(components, file), "utf8"))
				.join("\n");
			for (const name of settings.keys())
				assert.match(known, new RegExp(`^\\s*(menu)?config ${name}\\s*$`, "m"), name);
		});

		test("meet the requirements of the TCP socket", () => {
			const header = read("esp32/tcp/tcp-watcher.h");
			const connections = Number(/#define TCP_SLOTS (\d+)/.exec(header)?.[1]);
			// One more socket belongs to the watcher.
			assert.ok(
				Number(settings.get("LWIP_MAX_SOCKETS")) >= connections + 1,
				`${settings.get("LWIP_MAX_SOCKETS")} sockets for ${connections} connections`,
			);
			assert.equal(settings.get("LWIP_SO_RCVBUF"), "y", "counts the bytes that can be read");
			assert.equal(settings.get("LWIP_NETIF_LOOPBACK"), "y", "carries the datagram that ends select()");
			assert.ok(
				Number(settings.get("LWIP_TCP_RECVMBOX_SIZE")) >= 12,
				"two windows of 8,192 bytes in segments",
			);
		});

		test("take the version from this project, and the committed one marks a build without a version", () => {
			assert.equal(settings.get("APP_PROJECT_VER_FROM_CONFIG"), "y");
			assert.equal(settings.get("APP_PROJECT_VER"), '"0.0.0-dev"');
		});
	});

describe("SDK settings for every host", () => {
	const { defines } = JSON.parse(read("esp32/common.json"));

	test("provide a queue for posts from interrupts during a turn: the SDK's ten entries would overflow and a button stop working", () => {
		assert.equal(defines.task.queueLength, 64);
	});

	test("make XS call the crash report before it restarts the chip", () =>
		assert.equal(defines.xs.abortHook, 1));
});

describe("ESP-IDF settings for the boards only", () => {
	const settings = settingsOf("esp32");

	test("provide a sufficient interrupt stack", () => {
		assert.ok(
			Number(settings.get("FREERTOS_ISR_STACKSIZE")) >= 4096,
			`${settings.get("FREERTOS_ISR_STACKSIZE")} bytes`,
		);
	});

	test("keep the ring's interrupt and encoder in internal RAM", () => {
		assert.equal(settings.get("RMT_TX_ISR_HANDLER_IN_IRAM"), "y");
		assert.equal(settings.get("RMT_ENCODER_FUNC_IN_IRAM"), "y");
	});

	test("restart after a hang with interrupts off", () => assert.equal(settings.get("ESP_INT_WDT"), "y"));

	test("print errors of ESP-IDF and this firmware, such as missing PSRAM", () => {
		for (const name of [
			"LOG_DEFAULT_LEVEL_ERROR",
			"BOOTLOADER_LOG_LEVEL_ERROR",
			"ESP_CONSOLE_USB_SERIAL_JTAG",
		])
			assert.equal(settings.get(name), "y", name);
		assert.equal(settings.get("SPIRAM_IGNORE_NOTFOUND"), "y");
	});

	test("receive 60 KB/s at 50 ms with one lost segment in the window", () => {
		const onTheWay = 60_000 * 0.05;
		assert.ok(
			Number(settings.get("LWIP_TCP_WND_DEFAULT")) >= 2 * onTheWay + 2 * 1436,
			`${settings.get("LWIP_TCP_WND_DEFAULT")} bytes`,
		);
	});

	test("fit two connections' unread segments into Wi-Fi's receive buffers with half as many spare", () => {
		const segments = Math.ceil(Number(settings.get("LWIP_TCP_WND_DEFAULT")) / 1436);
		assert.ok(
			3 * segments <= 1.5 * Number(settings.get("ESP_WIFI_DYNAMIC_RX_BUFFER_NUM")),
			`${segments} segments for each connection`,
		);
	});

	test("equal the window and buffers that a virtual device simulates", () => {
		const source = read("virtual/node/simulated/receive-buffers.ts");
		const number = (name: string) =>
			Number(new RegExp(`${name} = ([\\d_]+)`).exec(source)?.[1]?.replace("_", ""));
		assert.equal(Number(settings.get("LWIP_TCP_WND_DEFAULT")), number("windowBytes"));
		assert.equal(Number(settings.get("ESP_WIFI_DYNAMIC_RX_BUFFER_NUM")), number("bufferCount"));
	});

	test("match 16 MB of flash and octal PSRAM", () => {
		assert.equal(settings.get("ESPTOOLPY_FLASHSIZE_16MB"), "y");
		assert.equal(settings.get("SPIRAM"), "y");
		assert.equal(settings.get("SPIRAM_MODE_OCT"), "y");
	});
});

describe("ESP-IDF settings for QEMU only", () => {
	const settings = settingsOf("qemu");

	test("enable its network chip with enough receive buffers", () => {
		assert.equal(settings.get("ETH_USE_OPENETH"), "y");
		assert.ok(
			Number(settings.get("ETH_OPENETH_DMA_RX_BUFFER_NUM")) >= 32,
			`${settings.get("ETH_OPENETH_DMA_RX_BUFFER_NUM")} buffers`,
		);
		assert.ok(
			Number(settings.get("FREERTOS_ISR_STACKSIZE")) >= 4096,
			`${settings.get("FREERTOS_ISR_STACKSIZE")} bytes`,
		);
	});

	test("use nothing that QEMU lacks: quad flash, crypto units, fuses", () => {
		assert.equal(settings.get("ESPTOOLPY_FLASHMODE_DIO"), "y");
		for (const name of ["FLASHMODE_QIO", "HARDWARE_AES", "HARDWARE_SHA", "HARDWARE_MPI"])
			assert.equal(settings.get(`${name.startsWith("FLASH") ? "ESPTOOLPY" : "MBEDTLS"}_${name}`), "n", name);
		assert.equal(settings.get("ESP32_DISABLE_BASIC_ROM_CONSOLE"), "n");
	});

	test("match 4 MB of flash, and the terminal", () => {
		assert.equal(settings.get("ESPTOOLPY_FLASHSIZE_4MB"), "y");
		assert.equal(settings.get("ESP_CONSOLE_UART_DEFAULT"), "y");
	});
});

test("the typing of foreign functions equals the list in the manifests", () => {
	const manifests = [
		"esp32/common",
		"esp32/manifest",
		"esp32/touch/manifest",
		"esp32/bring-up/common",
		"qemu/manifest",
	].map((name) => `${name}.json`);
	const declared = manifests.flatMap((file) => Object.keys(JSON.parse(read(file)).ffi.functions)).sort();
	const typed = [...read("typings/xs.d.ts").matchAll(/^\t\t(\w+)\(/gm)].map(([, name]) => name);
	assert.deepEqual(typed, declared);
});

/** Maximum live size, measured in QEMU (hosts/README.md). */
const mostLive = { chunks: 62_800, slots: 2_497, stack: 434 };

describe("XS heap, which cannot grow", () => {
	const sizesOf = (path: string) => {
		const { creation } = JSON.parse(read(path));
		const { chunk, heap, stack } = creation;
		assert.deepEqual([chunk.incremental, heap.incremental, creation.static], [0, 0, 0]);
		return { chunks: chunk.initial, slots: heap.initial, stack };
	};

	for (const [name, path, times] of [
		["boards", "esp32/manifest.json", 2],
		["QEMU", "qemu/manifest.json", 1.25],
	] as const)
		test(`has ${times} times the live size in ${name}, and the sizes in README.md`, () => {
			const sizes = sizesOf(path);
			for (const part of ["chunks", "slots", "stack"] as const)
				assert.ok(sizes[part] >= times * mostLive[part], `${part}: ${sizes[part]}`);
			const row = [
				name,
				...[sizes.chunks, sizes.slots, sizes.stack].map((size) => size.toLocaleString("en")),
			];
			assert.ok(read("README.md").includes(`| ${row.join(" | ")} |`), row.join(" | "));
		});
});
