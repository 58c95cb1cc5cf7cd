/** As much of a board's build as runs without ESP-IDF: generating, checking types, and linking all modules into ROM. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Model, models } from "../../../device/protocol/schema.js";
import { projectFolder } from "../../../scripts/moddable-sdk.js";
import { type Generated, generate, pretendIdf, sdkOrReason } from "./generated.js";

const { sdk, reason } = sdkOrReason();
const version = "1.2.3-test.4";

/** tsconfig.base.json, without what mcconfig decides itself. */
const strictness = {
	noEmit: true,
	strict: true,
	noUncheckedIndexedAccess: true,
	exactOptionalPropertyTypes: true,
	noImplicitOverride: true,
	noImplicitReturns: true,
	noFallthroughCasesInSwitch: true,
	skipLibCheck: true,
};

for (const model of models) describe(`building ${model}`, { skip: reason }, () => boardTests(model));

function boardTests(model: Model): void {
	let generated: Generated;

	before(() => {
		if (sdk) generated = generate(sdk, model, version);
	});
	after(() => generated.remove());

	test("mcconfig generates it without a word", () => {
		assert.equal(generated.output, "");
		assert.equal(generated.status, 0);
	});

	test("model and version come into the image", () => {
		assert.match(generated.read("mc.defines.h"), new RegExp(`#define MODDEF_FIRMWARE_MODEL "${model}"`));
		const sdkconfig = generated.read(join("xsProj-esp32s3", "sdkconfig.mc"));
		const versions = sdkconfig.match(/^CONFIG_APP_PROJECT_VER=.*$/gm);
		assert.equal(versions?.at(-1), `CONFIG_APP_PROJECT_VER="${version}"`);
	});

	test("the lines that rollback needs stand after the SDK's own", () => {
		const lines = generated.read(join("xsProj-esp32s3", "sdkconfig.mc")).split("\n");
		const last = new Map(lines.filter((line) => line.startsWith("CONFIG_")).map(keyAndValue));
		assert.equal(last.get("CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE"), "y");
		assert.equal(last.get("CONFIG_ESP_TASK_WDT_EN"), "y");
		assert.equal(last.get("CONFIG_ESP_TASK_WDT_PANIC"), "y");
		assert.equal(last.get("CONFIG_ESP_SYSTEM_PANIC_PRINT_REBOOT"), "y");
		for (const off of ["CONFIG_ESP_SYSTEM_PANIC_GDBSTUB", "CONFIG_BOOTLOADER_SKIP_VALIDATE_ALWAYS"])
			assert.ok(["n", "", undefined].includes(last.get(off)), off);
	});

	test("its partitions are ours", () => {
		const ours = readFileSync(join(projectFolder, "hosts", "esp32", "sdkconfig", "partitions.csv"), "utf8");
		assert.equal(generated.read(join("xsProj-esp32s3", "partitions.csv")).trim(), ours.trim());
	});

	test("the touch driver is in the image of the one model that has a pad", () => {
		const hasTouch = generated.read("xs_idf_deps.txt").includes("esp_driver_touch_sens");
		assert.equal(hasTouch, model === "PROTO-1");
	});

	test("every module passes the type checker, strictly, with the SDK's typings", () => {
		const files = generated.list("-tsconfig.json").flatMap((file) => filesOf(generated.read(file)));
		assert.ok(files.length > 30);
		const config = { extends: "./modules/tsconfig-base.json", compilerOptions: strictness, files };
		writeFileSync(join(generated.folder, "check.json"), JSON.stringify(config));
		const tsc = spawnSync("tsc", ["-p", join(generated.folder, "check.json")], {
			env: sdk?.environment,
			encoding: "utf8",
		});
		assert.equal(tsc.stdout, "");
		assert.equal(tsc.status, 0);
	});

	test("all modules are preloaded: nothing that runs while they load needs a chip, and nothing of ours stays in RAM", () => {
		const idf = pretendIdf();
		const target = join(generated.folder, "mc.xs.c");
		// ESP-IDF would write this; as an old file it makes nothing out of date.
		const header = join(generated.folder, "xsProj-esp32s3", "build", "config", "sdkconfig.h");
		mkdirSync(join(header, ".."), { recursive: true });
		writeFileSync(header, "");
		const words = ["-f", "makefile", `-j${cpus().length}`, "-o", header, target];
		const make = spawnSync("make", words, {
			cwd: generated.folder,
			env: { ...sdk?.environment, IDF_PATH: idf },
			encoding: "utf8",
			maxBuffer: 64 * 1024 * 1024,
		});
		rmSync(idf, { recursive: true, force: true });
		assert.equal(make.status, 0, make.stdout + make.stderr);
		const warnings = (make.stdout + make.stderr).match(/^### warning: .*$/gm) ?? [];
		// Two lists of the SDK's TLS.
		assert.deepEqual(
			warnings.filter((warning) => !/ (cacheManager|globalCerts): not frozen$/.test(warning)),
			[],
		);
	});
}

function keyAndValue(line: string): [string, string] {
	const equals = line.indexOf("=");
	return [line.slice(0, equals), line.slice(equals + 1)];
}

function filesOf(tsconfig: string): readonly string[] {
	const { files }: { files: readonly string[] } = JSON.parse(tsconfig);
	return files;
}
