/** npm commands of package.json, and how tests run them. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { callCommand } from "../support/command-line.js";

/** Commands that run a tool or a test without a --help of this project. */
const others = ["format", "torment"];

const packageJson: unknown = JSON.parse(readFileSync("package.json", "utf8"));
export const scripts = isRecord(packageJson) && isRecord(packageJson.scripts) ? packageJson.scripts : {};
/** npm scripts of this project with their file and the arguments in package.json. */
export const commands = Object.entries(scripts)
	.filter(([name]) => !others.includes(name))
	.map(([name, line]) => {
		const words = String(line).split(" ");
		const index = words.findLastIndex((word) => word.endsWith(".ts"));
		return { name, start: words[0], file: words[index] ?? "", parameters: words.slice(index + 1) };
	});

const shortNames = ["start", "test"];
/** Command line as typed by a user. */
export const npmLine = (name: string) => (shortNames.includes(name) ? `npm ${name}` : `npm run ${name}`);

/** Files that a command may write, none of which may change. */
function outputs(folder: string): unknown {
	const written = ["gateway/api/asyncapi.yaml", "gateway/dashboard/screenshots"].filter((path) =>
		existsSync(path),
	);
	const files = written.flatMap((path) =>
		path.endsWith(".yaml") ? path : readdirSync(path).map((name) => join(path, name)),
	);
	return { folder: readdirSync(folder), times: files.map((file) => statSync(file).mtimeMs) };
}

/** Runs a command in an empty folder. @throws AssertionError if it wrote something */
export async function run(
	t: TestContext,
	file: string,
	words: readonly string[],
	env: Record<string, string> = {},
) {
	const folder = await temporaryDirectory(t);
	const before = outputs(folder);
	const environment = { PORT: "0", DATA_DIR: folder, RELEASES_DIR: folder, MODDABLE: "/nowhere", ...env };
	const called = await callCommand(file, words, environment);
	assert.deepEqual(outputs(folder), before);
	return called;
}

/** Output of a command for --help. */
export async function usageOf(t: TestContext, name: string): Promise<string> {
	const command = commands.find((command) => command.name === name);
	assert.ok(command, `no command ${name}`);
	return (await run(t, command.file, [...command.parameters, "--help"])).output;
}
