/** Build steps for a board that run without ESP-IDF: generation, type check and linking all modules into ROM. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { installedSettings } from "../../../device/protocol/messages.js";
import { isRecord, type Model, models } from "../../../device/protocol/schema.js";
import { boardOf, qemuBoardOf } from "../../../scripts/boards/build.js";
import { bringUpManifest } from "../../../scripts/bring-up/hardware.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { sdkOrReason } from "../../support/programs.js";
import { checkTypes, type Generated, generate, generateSimulated, linkIntoRom } from "./generated.js";

const { sdk, reason } = sdkOrReason();
const version = "1.2.3-test.4";

for (const model of models)
	for (const host of [boardOf(model), qemuBoardOf(model)])
		describe(`building ${host}`, { skip: reason }, () => buildTests(host, model));

/** @param host folder under hosts/ */
function buildTests(host: string, model: Model): void {
	let generated: Generated;

	before(() => {
		if (sdk) generated = generate(sdk, host, version);
	});
	after(() => generated.remove());

	test("mcconfig generates it without warnings", () => {
		assert.equal(generated.output, "");
		assert.equal(generated.status, 0);
	});

	test("the image contains model, version and security version", () => {
		assert.match(generated.read("mc.defines.h"), new RegExp(`#define MODDEF_FIRMWARE_MODEL "${model}"`));
		const { defines } = JSON.parse(readFileSync(join(projectFolder, "manifest.json"), "utf8"));
		const securityVersion = `#define MODDEF_FIRMWARE_SECURITYVERSION (${defines.firmware.securityVersion})`;
		assert.ok(
			generated.read("mc.defines.h").includes(securityVersion),
			`mc.defines.h lacks ${securityVersion}`,
		);
		const sdkconfig = generated.read(join("xsProj-esp32s3", "sdkconfig.mc"));
		const versions = sdkconfig.match(/^CONFIG_APP_PROJECT_VER=.*$/gm);
		assert.equal(versions?.at(-1), `CONFIG_APP_PROJECT_VER="${version}"`);
	});

	test("only settings from the command line are compiled in", () => {
		assert.deepEqual(builtInSettings(generated), {});
	});

	test("contains this project's TCP instead of the SDK's, which corrupts memory", () => {
		const makefile = generated.read("makefile");
		const objects: readonly string[] = makefile.match(/(?<=TMP_DIR\)\/)[\w-]+(?=\.c\.o\\)/g) ?? [];
		assert.ok(objects.length > 20, `only ${objects.length} objects`);
		for (const own of ["tcp-binding", "tcp-connection", "tcp-port-esp32"])
			assert.ok(objects.includes(own), own);
		for (const other of ["tcp", "listener"]) assert.ok(!objects.includes(other), other);
		assert.doesNotMatch(makefile, /socket\/lwip\/(tcp|listener)/);
		assert.match(makefile, /hosts\/esp32\/tcp\/tcp\.ts/);
	});

	test("contains this project's GHASH: the SDK's takes five times the instructions", () => {
		const sources = generated.read("makefile").match(/\S+\/ghash\.c\b(?!\.)/g) ?? [];
		assert.notEqual(sources.length, 0);
		for (const source of sources) assert.match(source, /hosts\/moddable\/tls\/ghash\.c$/);
	});

	test("every module passes the strict type check with the SDK's typings", () => {
		if (sdk) assert.equal(checkTypes(sdk, generated), "");
	});

	test("all modules are preloaded: loading uses no hardware, and none of this project's modules stays in RAM", () => {
		if (sdk) assert.deepEqual(linkIntoRom(sdk, generated), []);
	});
}

for (const model of models)
	test(`the bring-up program of ${boardOf(model)} passes the type check and is linked into ROM`, {
		skip: reason,
	}, () => {
		if (!sdk) return;
		const generated = generate(sdk, boardOf(model), version, [bringUpManifest]);
		after(generated.remove);
		assert.equal(generated.output, "");
		assert.match(generated.read("mc.defines.h"), new RegExp(`#define MODDEF_FIRMWARE_MODEL "${model}"`));
		assert.match(generated.read("makefile"), /hosts\/esp32\/bring-up\/main\.ts/);
		assert.doesNotMatch(generated.read("makefile"), /device\/main\.ts/);
		assert.equal(checkTypes(sdk, generated), "");
		assert.deepEqual(linkIntoRom(sdk, generated), []);
	});

for (const model of models)
	test(`a simulated ${model} has only the settings of its command line`, { skip: reason }, () => {
		if (!sdk) return;
		for (const settings of [{}, { sntp: "time.lan" }]) {
			const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
			const generated = generateSimulated(sdk, model, words);
			after(generated.remove);
			assert.deepEqual(builtInSettings(generated), settings);
		}
	});

/** Settings of the generated `mc/config` that storeBuiltInSettings (device/built-in-settings.ts) stores. */
function builtInSettings({ read }: Generated): Record<string, unknown> {
	const [, object = ""] = /export default Object\.freeze\((.*), true\);/s.exec(read("mc.config.js")) ?? [];
	const config: unknown = JSON.parse(object.replace(/,\s*\}$/, "}"));
	assert.ok(isRecord(config), `configuration: ${JSON.stringify(config)}`);
	return Object.fromEntries(
		installedSettings.flatMap((name) => (config[name] ? [[name, config[name]] as const] : [])),
	);
}
