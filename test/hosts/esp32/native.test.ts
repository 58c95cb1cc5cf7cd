/** The boards' C: the descriptor's bytes, and every file against ESP-IDF's headers where those are. */

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
import { readDescriptor } from "../../../scripts/board-build.js";
import { projectFolder } from "../../../scripts/moddable-sdk.js";
import { sdkOrReason } from "./generated.js";

const source = join(projectFolder, "hosts", "esp32");
const work = mkdtempSync(join(tmpdir(), "board-c-"));
after(() => rmSync(work, { recursive: true, force: true }));

const warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror"];
const compiler = ["cc", "gcc", "clang"].find((name) => spawnSync(name, ["--version"]).status === 0);

/** As far as these files and the headers that they include ask. ESP-IDF generates it when it builds. */
const chips = {
	esp32s3: `
#define CONFIG_IDF_TARGET "esp32s3"
#define CONFIG_IDF_TARGET_ESP32S3 1
#define CONFIG_IDF_FIRMWARE_CHIP_ID 0x0009
#define CONFIG_SPIRAM 1
`,
	esp32: `
#define CONFIG_IDF_TARGET "esp32"
#define CONFIG_IDF_TARGET_ESP32 1
#define CONFIG_IDF_FIRMWARE_CHIP_ID 0x0000
#define CONFIG_ETH_ENABLED 1
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
#define CONFIG_APP_RETRIEVE_LEN_ELF_SHA 16
#define CONFIG_APP_PROJECT_VER "1.20.3-rc.1"
`;
for (const [subclass, settings] of Object.entries(chips)) {
	mkdirSync(join(work, subclass));
	writeFileSync(join(work, subclass, "sdkconfig.h"), settings + common);
}
writeFileSync(join(work, "mc.defines.h"), '#define MODDEF_FIRMWARE_MODEL "PROTO-1"\n');

function compile(subclass: Subclass, ...words: string[]): string {
	const own = ["-I", work, "-I", join(work, subclass)];
	const made = spawnSync(compiler ?? "cc", [...warnings, ...own, ...words], { encoding: "utf8" });
	return made.status === 0 ? made.stderr : `${made.stderr}\ncompiler ended with ${made.status}`;
}

describe("the descriptor", { skip: compiler ? undefined : "no C compiler" }, () => {
	/** Its 64 bytes, as a compiler lays them out. */
	function descriptor(): Buffer {
		const program = join(work, "descriptor");
		writeFileSync(
			`${program}.c`,
			`#include <stdio.h>
#include "board-descriptor.c"
int main(void)
{
	fwrite(&firmware_descriptor, sizeof firmware_descriptor, 1, stdout);
	fputs(board_firmware_model(), stdout);
	fputs(board_firmware_version(), stdout);
	return 0;
}
`,
		);
		assert.equal(compile("esp32s3", "-I", source, "-o", program, `${program}.c`), "");
		return spawnSync(program).stdout;
	}

	test("is 64 bytes: DAG1, its size, model, version, and zeros", () => {
		const bytes = descriptor().subarray(0, 64);
		assert.equal(bytes.readUInt32LE(0), 0x31474144);
		assert.equal(bytes.readUInt32LE(4), 64);
		assert.equal(bytes.toString("latin1", 8, 24), "PROTO-1".padEnd(16, "\0"));
		assert.equal(bytes.toString("latin1", 24, 56), "1.20.3-rc.1".padEnd(32, "\0"));
		assert.deepEqual(bytes.subarray(56), Buffer.alloc(8));
	});

	test("is what the firmware says of itself, and what the build reads back from an image", () => {
		const bytes = descriptor();
		assert.equal(bytes.toString("latin1", 64), "PROTO-11.20.3-rc.1");
		const image = join(work, "image.bin");
		writeFileSync(image, Buffer.concat([Buffer.alloc(0x120), bytes.subarray(0, 64), Buffer.alloc(4096)]));
		assert.deepEqual(readDescriptor(image), { model: "PROTO-1", version: "1.20.3-rc.1" });
	});

	test("refuses to compile with a version that does not fit", () => {
		const folder = mkdtempSync(join(work, "long-"));
		writeFileSync(join(folder, "sdkconfig.h"), `#define CONFIG_APP_PROJECT_VER "${"1".repeat(32)}"\n`);
		const file = join(source, "board-descriptor.c");
		const said = spawnSync(compiler ?? "cc", ["-std=c11", "-fsyntax-only", "-I", folder, "-I", work, file], {
			encoding: "utf8",
		});
		assert.match(said.stderr, /the version has at most 31 characters/);
	});
});

describe("every C file for a chip", { skip: withoutHeaders() }, () => {
	const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
		file.endsWith(".c"),
	);
	const target = ["-fsyntax-only", "-D__XTENSA__", "-DESP_PLATFORM"];
	const own = ["-I", join(source, "idf"), "-I", join(source, "touch", "idf")];

	// QEMU's ESP32 has no pad, and the chip's touch controller is of another kind.
	for (const file of files)
		for (const subclass of ["esp32s3", "esp32"] as const)
			if (subclass === "esp32s3" || !file.startsWith("touch"))
				test(`${file} compiles for ${subclass} without a warning against ESP-IDF's headers`, () => {
					const words = [...target, ...own, ...headerFolders(subclass), join(source, file)];
					assert.equal(compile(subclass, ...words), "");
				});

	test("the header that the SDK's Ethernet asks for gives QEMU's chip, without a warning", () => {
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

function withoutHeaders(): string | undefined {
	if (!process.env.IDF_PATH) return "IDF_PATH is not set";
	if (!compiler) return "no C compiler";
	return sdkOrReason().reason;
}

/** The SDK's own list for ESP32 (tools/mcconfig/make.esp32.mk), as far as the folders exist. */
function headerFolders(subclass: Subclass): readonly string[] {
	const { sdk } = sdkOrReason();
	const { IDF_PATH } = process.env;
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
