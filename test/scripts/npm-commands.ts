/** The npm commands of package.json, and how tests run them. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runCommand } from "../support/command-line.js";

/** These run a tool that has its own --help. */
const others = ["format"];

const packageJson: unknown = JSON.parse(readFileSync("package.json", "utf8"));
export const scripts = isRecord(packageJson) && isRecord(packageJson.scripts) ? packageJson.scripts : {};
/** Each npm script that is a command of ours: its file, and what package.json gives to it. */
export const commands = Object.entries(scripts)
	.filter(([name]) => !others.includes(name))
	.map(([name, line]) => {
		const words = String(line).split(" ");
		const index = words.findLastIndex((word) => word.endsWith(".ts"));
		return { name, start: words[0], file: words[index] ?? "", given: words.slice(index + 1) };
	});

const shortNames = ["start", "test"];
/** As a person types it. */
export const npmLine = (name: string) => (shortNames.includes(name) ? `npm ${name}` : `npm run ${name}`);

/** What a command may write: nothing of it may change. */
function outputs(folder: string): unknown {
	const written = ["gateway/api/asyncapi.yaml", "gateway/dashboard/screenshots"].filter((path) =>
		existsSync(path),
	);
	const files = written.flatMap((path) =>
		path.endsWith(".yaml") ? path : readdirSync(path).map((name) => join(path, name)),
	);
	return { folder: readdirSync(folder), times: files.map((file) => statSync(file).mtimeMs) };
}

/** Runs a command in an empty folder. @throws AssertionError where it wrote something */
export async function run(
	t: TestContext,
	file: string,
	words: readonly string[],
	env: Record<string, string> = {},
) {
	const folder = await temporaryDirectory(t);
	const before = outputs(folder);
	const environment = { PORT: "0", DATA_DIR: folder, RELEASES_DIR: folder, MODDABLE: "/nowhere", ...env };
	const command = runCommand(t, file, words, environment);
	const code = await command.exitCode;
	assert.deepEqual(outputs(folder), before);
	return { code, output: command.output() };
}

/** What a command prints for --help. */
export async function usageOf(t: TestContext, name: string): Promise<string> {
	const command = commands.find((each) => each.name === name);
	assert.ok(command, `there is no command ${name}`);
	return (await run(t, command.file, [...command.given, "--help"])).output;
}
