/**
 * XS keeps a state of 28 bytes or more on the heap for each character that a greedy quantifier matches. A certificate
 * of 4 KB used 140 KB: "memory full" on an ESP32 in QEMU, all internal memory on a board. A lazy quantifier keeps one
 * state.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { commands } from "../../../device/protocol/messages.js";
import { isRecord } from "../../../device/protocol/schema.js";
import { projectFolder } from "../../../scripts/command-line/project.js";

const greedy = /(?<!\\)[*+](?![?])/;
const withoutClasses = (source: string) => source.replace(/\\.|\[(?:\\.|[^\]])*\]/g, "c");
/** Characters. The states of shorter texts fit. */
const longText = 256;

function patternsOf(schema: unknown): readonly string[] {
	if (!isRecord(schema)) return [];
	const { pattern, maxLength } = schema;
	if (typeof pattern === "string") return Number(maxLength) > longText ? [pattern] : [];
	return Object.values(schema).flatMap(patternsOf);
}

describe("no pattern keeps a state for each character of a long text", () => {
	test("in a command", () => {
		const patterns = patternsOf(commands);
		assert.notEqual(patterns.length, 0);
		for (const pattern of patterns) assert.doesNotMatch(withoutClasses(pattern), greedy, pattern);
	});

	test("in the firmware's code", () => {
		const folder = join(projectFolder, "device");
		let count = 0;
		for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
			if (!name.endsWith(".ts")) continue;
			const source = readFileSync(join(folder, name), "utf8");
			for (const [, pattern = ""] of source.matchAll(/\/(\^.*)\/[a-z]*\.(?:exec|test)\(/g)) {
				count += 1;
				assert.doesNotMatch(withoutClasses(pattern), greedy, `${name}: ${pattern}`);
			}
		}
		assert.ok(count > 3, String(count));
	});
});
