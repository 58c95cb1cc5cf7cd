/**
 * C code of the boards: the bytes of the descriptor, and compilation of every file against ESP-IDF's headers if they
 * are installed.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { readDescriptor } from "../../../scripts/boards/build.js";
import { packageVersion, projectFolder } from "../../../scripts/command-line/project.js";
import { pathOf, sdkOrReason, testMachine, whyMissing } from "../../support/programs.js";

const source = join(projectFolder, "hosts", "esp32");
const work = mkdtempSync(join(tmpdir(), "board-c-"));
after(() => rmSync(work, { recursive: true, force: true }));

const warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"];
const skip = whyMissing("C compiler");

/** Subset of the sdkconfig.h that ESP-IDF generates, for these files and the headers they include. */
const chips = {
	esp32s3: `
#define CONFIG_IDF_TARGET "esp32s3"
#define CONFIG_IDF_TARGET_ESP32S3 1
#define CONFIG_IDF_FIRMWARE_CHIP_ID 0x0009
#define CONFIG_SPIRAM 1
#define CONFIG_ESP_CONSOLE_USB_SERIAL_JTAG 1
`,
	esp32: `
#define CONFIG_IDF_TARGET "esp32"
#define CONFIG_IDF_TARGET_ESP32 1
#define CONFIG_IDF_FIRMWARE_CHIP_ID 0x0000
#define CONFIG_ETH_ENABLED 1
#define CONFIG_ESP_CONSOLE_UART_NUM 0
#define CONFIG_ETH_USE_OPENETH 1
#define CONFIG_ETH_OPENETH_DMA_RX_BUFFER_NUM 32
#define CONFIG_ETH_OPENETH_DMA_TX_BUFFER_NUM 1
`,
} as const;
type Subclass = keyof typeof chips;
const common = `
#define CONFIG_IDF_TARGET_ARCH_XTENSA 1
#define CONFIG_MMU_PAGE_SIZE 0x10000
#define CONFIG_FREERTOS_HZ 1000
#define CONFIG_FREERTOS_MAX_TASK_NAME_LEN 16
#define CONFIG_FREERTOS_NUMBER_OF_CORES 2
#define CONFIG_FREERTOS_TASK_NOTIFICATION_ARRAY_ENTRIES 1
#define CONFIG_LWIP_DHCP_COARSE_TIMER_SECS 1
#define CONFIG_LWIP_IPV4 1
#define CONFIG_LWIP_IPV6 1
#define CONFIG_LWIP_IPV6_NUM_ADDRESSES 3
#define CONFIG_LWIP_MAX_SOCKETS 8
#define CONFIG_LWIP_NETIF_LOOPBACK 1
#define CONFIG_LWIP_SO_RCVBUF 1
#define CONFIG_LWIP_TCP_OVERSIZE_MSS 1
#define CONFIG_APP_RETRIEVE_LEN_ELF_SHA 16
#define CONFIG_ESP_COREDUMP_ENABLE_TO_FLASH 1
#define CONFIG_SOC_RTC_SLOW_MEM_SUPPORTED 1
#define CONFIG_APP_PROJECT_VER "1.20.3-rc.1"
`;
for (const [subclass, settings] of Object.entries(chips)) {
	mkdirSync(join(work, subclass));
	writeFileSync(join(work, subclass, "sdkconfig.h"), settings + common);
}
// Declarations of the chip's C library that lwIP's types need.
mkdirSync(join(work, "machine"));
writeFileSync(
	join(work, "machine", "endian.h"),
	[
		"#define _LITTLE_ENDIAN 1234",
		"#define _BYTE_ORDER _LITTLE_ENDIAN",
		"#define LITTLE_ENDIAN 1234",
		"#define BIG_ENDIAN 4321",
		"#define BYTE_ORDER LITTLE_ENDIAN",
		"",
	].join("\n"),
);
writeFileSync(
	join(work, "mc.defines.h"),
	'#define MODDEF_FIRMWARE_MODEL "PROTO-1"\n#define MODDEF_FIRMWARE_SECURITYVERSION (0x102)\n',
);

function compile(subclass: Subclass, ...words: string[]): string {
	const own = ["-I", work, "-I", join(work, subclass)];
	const made = spawnSync(pathOf("C compiler"), [...warnings, ...own, ...words], { encoding: "utf8" });
	return made.status === 0 ? made.stderr : `${made.stderr}\ncompiler ended with ${made.status}`;
}

describe("image descriptor", { skip }, () => {
	const builtAt = Date.UTC(2026, 0, 1) / 1000;

	/** Compiles its 64 bytes and the firmware's report of them. */
	function descriptor({ version = "1.20.3-rc.1", buildTime = builtAt } = {}): Buffer {
		const folder = mkdtempSync(join(work, "descriptor-"));
		writeFileSync(join(folder, "sdkconfig.h"), `#define CONFIG_APP_PROJECT_VER "${version}"\n`);
		const program = join(folder, "descriptor");
		writeFileSync(
			`${program}.c`,
			`#include <stdio.h>
#include "board-descriptor.c"
int main(void)
{
	fwrite(&firmware_descriptor, sizeof firmware_descriptor, 1, stdout);
	fputs(board_firmware_model(), stdout);
	fputs(board_firmware_version(), stdout);
	printf("%lu %lu", (unsigned long)board_firmware_build_time(), (unsigned long)board_firmware_security_version());
	return 0;
}
`,
		);
		process.env.SOURCE_DATE_EPOCH = String(buildTime);
		assert.equal(compile("esp32s3", "-iquote", folder, "-I", source, "-o", program, `${program}.c`), "");
		delete process.env.SOURCE_DATE_EPOCH;
		return spawnSync(program).stdout;
	}

	test("is 64 bytes: DAG1, its size, model, version, no flag, the security version and the build time", () => {
		const bytes = descriptor().subarray(0, 64);
		assert.equal(bytes.readUInt32LE(0), 0x31474144);
		assert.equal(bytes.readUInt32LE(4), 64);
		assert.equal(bytes.toString("latin1", 8, 24), "PROTO-1".padEnd(16, "\0"));
		assert.equal(bytes.toString("latin1", 24, 56), "1.20.3-rc.1".padEnd(32, "\0"));
		assert.deepEqual(bytes.subarray(56, 60), Buffer.of(0, 0, 2, 1));
		assert.equal(bytes.readUInt32LE(60), builtAt);
	});

	test("is what the firmware reports and what the build reads back from an image", () => {
		const bytes = descriptor();
		assert.equal(bytes.toString("latin1", 64), `PROTO-11.20.3-rc.1${builtAt} 258`);
		const image = join(work, "image.bin");
		writeFileSync(image, Buffer.concat([Buffer.alloc(0x120), bytes.subarray(0, 64), Buffer.alloc(4096)]));
		assert.deepEqual(readDescriptor(image), { model: "PROTO-1", version: "1.20.3-rc.1" });
	});

	test("has the correct build time in every month, on leap days and in the last second of a day", () => {
		const days = Array.from({ length: 12 }, (_, month) => Date.UTC(2026, month, 10, 9, 5, 7));
		const others = [Date.UTC(2028, 1, 29), Date.UTC(2028, 2, 1), Date.UTC(2027, 11, 31, 23, 59, 59)];
		for (const time of [...days, ...others])
			assert.equal(
				descriptor({ buildTime: time / 1000 }).readUInt32LE(60) * 1000,
				time,
				new Date(time).toISOString(),
			);
	});

	test("has the flag for compiled-in settings only when built by mcconfig alone", () => {
		const committed = readFileSync(join(source, "sdkconfig", "sdkconfig.defaults"), "utf8");
		const [, byHand = ""] = /^CONFIG_APP_PROJECT_VER="(.*)"$/m.exec(committed) ?? [];
		assert.equal(descriptor({ version: byHand }).readUInt16LE(56), 1);
		assert.equal(descriptor({ version: packageVersion() }).readUInt16LE(56), 0);
	});

	test("does not compile with a version that does not fit", () => {
		const folder = mkdtempSync(join(work, "long-"));
		writeFileSync(join(folder, "sdkconfig.h"), `#define CONFIG_APP_PROJECT_VER "${"1".repeat(32)}"\n`);
		const file = join(source, "board-descriptor.c");
		const said = spawnSync(
			pathOf("C compiler"),
			["-std=c11", "-fsyntax-only", "-I", folder, "-I", work, file],
			{
				encoding: "utf8",
			},
		);
		assert.match(said.stderr, /the version must have at most 31 characters/);
	});
});

describe("C files for a chip", { skip: withoutHeaders() }, () => {
	const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
		file.endsWith(".c"),
	);
	// lwIP defines ssize_t itself if SSIZE_MAX is undefined.
	const target = [
		"-include",
		"limits.h",
		"-fsyntax-only",
		"-D__XTENSA__",
		"-DESP_PLATFORM",
		"-Dasm=__asm__",
		"-D_XOPEN_SOURCE=700",
		"-DNFDBITS=__NFDBITS",
	];
	const own = ["idf", "tcp", join("touch", "idf")].flatMap((folder) => ["-I", join(source, folder)]);

	// QEMU's ESP32 has no pad, and its touch controller is of another type.
	for (const file of files)
		for (const subclass of ["esp32s3", "esp32"] as const)
			if (subclass === "esp32s3" || !file.startsWith("touch"))
				test(`${file} compiles for ${subclass} without warnings against ESP-IDF's headers`, () => {
					const words = [...target, ...own, ...xsFor(file), ...headerFolders(subclass), join(source, file)];
					assert.equal(compile(subclass, ...words), "");
				});

	test("the header for the SDK's Ethernet selects QEMU's chip without warnings", () => {
		const user = join(work, "ethernet-user.c");
		writeFileSync(
			user,
			`#include "ethernet.h"
esp_eth_mac_t *mac(void) { spi_device_interface_config_t bus = { 0 }; return mod_ethernet_get_mac(bus, 4); }
esp_eth_phy_t *phy(void) { return mod_ethernet_get_phy(); }
`,
		);
		const folder = join(projectFolder, "hosts", "qemu", "eth");
		assert.equal(compile("esp32", ...target, "-I", folder, ...headerFolders("esp32"), user), "");
	});
});

/** XS headers for natives, and the identifiers that the SDK would collect from the file. */
function xsFor(file: string): readonly string[] {
	const { sdk } = sdkOrReason();
	const text = readFileSync(join(source, file), "utf8");
	if (!sdk || !text.includes('"mc.xs.h"')) return [];
	const identifiers = new Set(text.match(/\bxsID_\w+/g) ?? []);
	const folder = mkdtempSync(join(work, "xs-"));
	const lines = [...identifiers].map((identifier, index) => `#define ${identifier} ${index + 1}\n`);
	writeFileSync(join(folder, "mc.xs.h"), lines.join(""));
	const folders = ["xs/includes", "xs/platforms/esp", "modules/io/common"];
	const defines = ["-D__ets__=1", "-DESP32=1", '-DXSPLATFORM="xsPlatform.h"'];
	return [...defines, "-I", folder, ...folders.flatMap((name) => ["-isystem", join(sdk.folder, name)])];
}

function withoutHeaders(): string | undefined {
	if (!testMachine.environment.IDF_PATH) return "IDF_PATH is not set";
	return skip || sdkOrReason().reason;
}

/** The SDK's list for ESP32 (tools/mcconfig/make.esp32.mk), limited to existing folders. */
function headerFolders(subclass: Subclass): readonly string[] {
	const { sdk } = sdkOrReason();
	const { IDF_PATH } = testMachine.environment;
	if (!sdk || !IDF_PATH) return [];
	const makefile = readFileSync(join(sdk.folder, "tools", "mcconfig", "make.esp32.mk"), "utf8");
	const folders = makefile.match(/\$\(IDF_PATH\)\/components[^\s\\]*/g) ?? [];
	return folders
		.map((folder) =>
			folder
				.replace("$(IDF_PATH)", IDF_PATH)
				.replaceAll("$(ESP32_SUBCLASS)", subclass)
				.replaceAll("$(ESP_ARCH)", "xtensa"),
		)
		.filter((folder) => existsSync(folder))
		.flatMap((folder) => ["-isystem", folder]);
}
