import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { temporaryDirectory } from "../support/cleanup.js";
import { commands, npmLine, run } from "./npm-commands.js";

describe("npm commands", () => {
	test("are the files of scripts/, without its folders", () => {
		const files = readdirSync("scripts").filter((name) => name.endsWith(".ts"));
		const strays = files.filter((name) => !commands.some(({ file }) => file === `scripts/${name}`));
		assert.deepEqual(strays, []);
	});

	test("replace npm's shell, so that a signal to npm ends them too", () => {
		const others = commands.filter(({ start }) => start !== "exec");
		assert.deepEqual(others, []);
	});

	test("print usage for --help and do nothing, and reject an unknown option with a message", async (t) => {
		for (const { name, file, parameters } of commands) {
			const { code, output } = await run(t, file, [...parameters, "--help"]);
			assert.equal(code, 0, output);
			assert.ok(output.startsWith(`Usage: ${npmLine(name)}`), `${name}: ${output}`);
			assert.equal(output.split("Usage:").length, 2, output);
			const rejected = await run(t, file, [...parameters, "--no-such-option"]);
			assert.equal(rejected.code, 1, `${name}: ${rejected.output}`);
			assert.match(rejected.output, /--no-such-option|Unknown argument 1\./);
			assert.doesNotMatch(rejected.output, /^ +at /m);
		}
	});
});

describe("missing -- before the options", () => {
	for (const [name, option] of [
		["token", "rotate"],
		["release", "allow-dirty"],
		["device", "gateway"],
		["flash", "ssid"],
		["qemu", "keep"],
		["simulator", "gateway"],
	] as const)
		test(`is explained by npm run ${name}`, async (t) => {
			const environment = {
				npm_lifecycle_event: name,
				[`npm_config_${option.replace("-", "_")}`]: "s3cret",
			};
			const { code, output } = await run(t, `scripts/${name}.ts`, ["1.0.0"], environment);
			assert.equal(code, 1);
			assert.ok(output.includes(`Write -- before the arguments: npm run ${name} -- --${option} …`), output);
			assert.doesNotMatch(output, /s3cret/);
		});

	test("is detected from the environment that npm passes", async (t) => {
		const folder = await temporaryDirectory(t);
		const { status, stderr } = spawnSync("npm run --silent token --rotate device", {
			shell: true,
			encoding: "utf8",
			env: { PATH: process.env.PATH, DATA_DIR: folder },
		});
		assert.equal(status, 1);
		assert.match(stderr, /npm run token -- --rotate/);
		assert.deepEqual(readdirSync(folder), []);
	});

	test("is not inferred from an .npmrc or another command's environment", async (t) => {
		for (const environment of [
			{ npm_lifecycle_event: "flash", npm_config_ca: "ca.pem" },
			{ npm_lifecycle_event: "test", npm_config_gateway: "true" },
		]) {
			const { output } = await run(t, "scripts/flash.ts", ["dev-1", "keep"], environment);
			assert.match(output, /MODDABLE is \/nowhere/);
			assert.doesNotMatch(output, /npm consumed/);
		}
	});
});
