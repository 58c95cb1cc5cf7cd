import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runCommand } from "../support/command-line.js";

/** These run a tool that has its own --help. */
const others = ["format"];

const packageJson: unknown = JSON.parse(readFileSync("package.json", "utf8"));
const scripts = isRecord(packageJson) && isRecord(packageJson.scripts) ? packageJson.scripts : {};
const commands = Object.entries(scripts)
	.filter(([name]) => !others.includes(name))
	.map(([name, line]) => {
		const words = String(line).split(" ");
		const index = words.findLastIndex((word) => word.endsWith(".ts"));
		return { name, file: words[index] ?? "", given: words.slice(index + 1) };
	});

const shortNames = ["start", "test"];
const npmLine = (name: string) => (shortNames.includes(name) ? `npm ${name}` : `npm run ${name}`);

/** What a command may write: nothing of it may change. */
function outputs(folder: string): unknown {
	const screenshots = "gateway/dashboard/screenshots";
	const files = [
		"gateway/api/asyncapi.yaml",
		...readdirSync(screenshots).map((name) => join(screenshots, name)),
	];
	return { folder: readdirSync(folder), times: files.map((file) => statSync(file).mtimeMs) };
}

async function run(t: TestContext, file: string, words: readonly string[], env: Record<string, string> = {}) {
	const folder = await temporaryDirectory(t);
	const before = outputs(folder);
	const environment = { PORT: "0", DATA_DIR: folder, RELEASES_DIR: folder, MODDABLE: "/nowhere", ...env };
	const command = runCommand(t, file, words, environment);
	const code = await command.exitCode;
	assert.deepEqual(outputs(folder), before);
	return { code, output: command.output() };
}

describe("an npm command", { concurrency: availableParallelism() }, () => {
	test("is each file of scripts/, beside its folders", () => {
		const files = readdirSync("scripts").filter((name) => name.endsWith(".ts"));
		const strays = files.filter((name) => !commands.some(({ file }) => file === `scripts/${name}`));
		assert.deepEqual(strays, []);
	});

	for (const { name, file, given } of commands) {
		for (const option of ["--help", "-h"])
			test(`${npmLine(name)} -- ${option} prints its usage and does nothing`, async (t) => {
				const { code, output } = await run(t, file, [...given, option]);
				assert.equal(code, 0, output);
				assert.ok(output.startsWith(`Usage: ${npmLine(name)}`), output);
				assert.equal(output.split("Usage:").length, 2, output);
			});

		test(`${npmLine(name)} refuses an unknown option in a sentence`, async (t) => {
			const { code, output } = await run(t, file, [...given, "--no-such-option"]);
			assert.equal(code, 1, output);
			assert.match(output, /not understood|Unknown option '--no-such-option'|model comes first/);
			assert.doesNotMatch(output, /^ +at /m);
		});
	}
});

describe("a forgotten -- before the options", { concurrency: availableParallelism() }, () => {
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

	test("is seen as npm itself passes it on", async (t) => {
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

	test("is not seen in what an .npmrc sets, or in another command's environment", async (t) => {
		for (const environment of [
			{ npm_lifecycle_event: "flash", npm_config_ca: "ca.pem" },
			{ npm_lifecycle_event: "test", npm_config_gateway: "true" },
		]) {
			const { output } = await run(t, "scripts/flash.ts", ["dev-1", "keep"], environment);
			assert.match(output, /MODDABLE is \/nowhere/);
			assert.doesNotMatch(output, /npm took/);
		}
	});
});
