import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { commands, npmLine, run } from "./npm-commands.js";

describe("npm commands", () => {
	test("are the files of scripts/, without its folders", () => {
		const files = readdirSync("scripts").filter((name) => name.endsWith(".ts"));
		const strays = files.filter((name) => !commands.some(({ file }) => file === `scripts/${name}`));
		assert.deepEqual(strays, []);
	});

	test("replace npm's shell, so that a signal to npm ends them too", () => {
		assert.deepEqual(
			commands.filter(({ start }) => start !== "exec").map(({ name }) => name),
			[],
		);
	});

	test("print usage for --help and do nothing", async (t) => {
		const { code, output } = await run(t, "test/scripts/print-usages.ts", []);
		assert.equal(code, 0, output);
		const usages = new Map(
			output
				.split("--- ")
				.slice(1)
				.map((part) => {
					const end = part.indexOf("\n");
					return [part.slice(0, end), part.slice(end + 1)];
				}),
		);
		for (const { name } of commands) {
			const usage = usages.get(name) ?? "";
			assert.ok(usage.startsWith(`Usage: ${npmLine(name)}`), `${name}: ${usage}`);
			assert.equal(usage.split("Usage:").length, 2, usage);
		}
	});
});
