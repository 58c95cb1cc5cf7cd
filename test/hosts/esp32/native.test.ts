/** Bytes of the image descriptor, which C code of the boards contains. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { readDescriptor } from "../../../scripts/boards/build.js";
import { packageVersion, projectFolder } from "../../../scripts/command-line/project.js";
import { compileC, withoutCompiler as skip } from "../../support/c-program.js";
import { withEnvironment } from "../../support/environment.js";

const source = join(projectFolder, "hosts", "esp32");
const work = mkdtempSync(join(tmpdir(), "board-c-"));
after(() => rmSync(work, { recursive: true, force: true }));

const reader = `#include <stdio.h>
#include "board-descriptor.c"
int main(void)
{
	fwrite(&firmware_descriptor, sizeof firmware_descriptor, 1, stdout);
	fputs(board_firmware_model(), stdout);
	fputs(board_firmware_version(), stdout);
	printf("%lu%s", (unsigned long)board_firmware_security_version(), board_firmware_built_at());
	return 0;
}
`;
const defines = '#define MODDEF_FIRMWARE_MODEL "PROTO-1"\n#define MODDEF_FIRMWARE_SECURITYVERSION (0x102)\n';

describe("image descriptor", { skip }, () => {
	/** Compiles its 64 bytes and the firmware's report of them. */
	function descriptor({ version = "1.20.3-rc.1" } = {}): Buffer {
		const headers = {
			"sdkconfig.h": `#define CONFIG_APP_PROJECT_VER "${version}"\n`,
			"mc.defines.h": defines,
		};
		const compile = () => compileC({ sources: reader, folders: ["hosts/esp32"], headers, sanitizers: [] });
		return spawnSync(
			withEnvironment({ SOURCE_DATE_EPOCH: String(Date.UTC(2028, 1, 29, 9, 5) / 1000) }, compile),
		).stdout;
	}

	test("is 64 bytes: DAG1, its size, model, version, no flag, and the security version", () => {
		const bytes = descriptor().subarray(0, 64);
		assert.equal(bytes.readUInt32LE(0), 0x31474144);
		assert.equal(bytes.readUInt32LE(4), 64);
		assert.equal(bytes.toString("latin1", 8, 24), "PROTO-1".padEnd(16, "\0"));
		assert.equal(bytes.toString("latin1", 24, 56), "1.20.3-rc.1".padEnd(32, "\0"));
		assert.deepEqual(bytes.subarray(56, 60), Buffer.of(0, 0, 2, 1));
	});

	test("is what the firmware reports and what the build reads back from an image", () => {
		const bytes = descriptor();
		assert.equal(bytes.toString("latin1", 64), "PROTO-11.20.3-rc.1258Feb 29 2028 09:05:00");
		const image = join(work, "image.bin");
		writeFileSync(image, Buffer.concat([Buffer.alloc(0x120), bytes.subarray(0, 64), Buffer.alloc(4096)]));
		assert.deepEqual(readDescriptor(image), { model: "PROTO-1", version: "1.20.3-rc.1" });
	});

	test("has the flag for compiled-in settings only when built by mcconfig alone", () => {
		const committed = readFileSync(join(source, "sdkconfig", "sdkconfig.defaults"), "utf8");
		const [, byHand = ""] = /^CONFIG_APP_PROJECT_VER="(.*)"$/m.exec(committed) ?? [];
		assert.equal(descriptor({ version: byHand }).readUInt16LE(56), 1);
		assert.equal(descriptor({ version: packageVersion() }).readUInt16LE(56), 0);
	});

	test("does not compile with a version that does not fit", () =>
		assert.throws(() => descriptor({ version: "1".repeat(32) }), /at most 31 characters/));
});
