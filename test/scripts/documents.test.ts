/** READMEs compared with the commands, settings, files and links that they name. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { installedSettings } from "../../device/protocol/messages.js";
import { describeProblem, findProblem, type Schema } from "../../device/protocol/schema.js";
import { announcementRequest } from "../../gateway/api/announcement.js";
import { commandRequest } from "../../gateway/api/command.js";
import { quietHoursRequest } from "../../gateway/api/quiet-hours.js";
import { planRequest } from "../../gateway/api/rollout.js";
import { scheduleRequest } from "../../gateway/api/schedule.js";
import { settingsOf } from "../../gateway/extensions.js";
import { settingsDocument } from "../../scripts/api/settings-table.js";
import { scripts, usageOf } from "./npm-commands.js";

const documents = [
	"README.md",
	"device/README.md",
	"gateway/README.md",
	"gateway/operations.md",
	"gateway/api/interface.md",
	"hosts/README.md",
	"hosts/upstream.md",
	"test/README.md",
	"test/bench/README.md",
	// Each extension has its own, deleted together with it.
	...readdirSync("gateway").map((name) => `gateway/${name}/README.md`),
].filter((file) => existsSync(file));
const read = (file: string) => readFileSync(file, "utf8");

/** Names that do not occur in `text` as a word. */
function missing(names: Iterable<string>, text: string): readonly string[] {
	return [...names].filter((name) => !new RegExp(`(?<![\\w:-])${name}(?![\\w:-])`).test(text));
}

/** Names in the first cells of the tables. */
function rowsOf(file: string): string {
	return (read(file).match(/^\| `[^|]*/gm) ?? []).join("\n");
}

test("README.md names each command of package.json, and the documents name no other", () => {
	const named = (file: string) =>
		[...read(file).matchAll(/\bnpm (?:run ([a-z-]+(?::[a-z]+)?)|(test|start)\b)/g)].map(
			([, run, own]) => run ?? own ?? "",
		);
	assert.deepEqual(missing(Object.keys(scripts), named("README.md").join("\n")), []);
	for (const file of documents)
		assert.deepEqual(missing(named(file), Object.keys(scripts).join("\n")), [], file);
});

test("gateway/README.md and the usage of npm start contain the gateway's variables", async (t) => {
	assert.equal(read("gateway/README.md"), settingsDocument().text, "run npm run api");
	const usage = await usageOf(t, "start");
	const names = settingsOf().map(([name]) => name);
	assert.deepEqual(missing(names, usage), []);
	// Markdown stays in the README.
	assert.doesNotMatch(usage, /`|\]\(/);
});

test("hosts/README.md and the usage of npm run flash name each setting of a device", async (t) => {
	assert.deepEqual(missing(installedSettings, rowsOf("hosts/README.md")), []);
	assert.deepEqual(missing(installedSettings, await usageOf(t, "flash")), []);
});

describe("links in a document lead to existing files and headings:", () => {
	/** Anchors as GitHub generates them. */
	const anchorsOf = (file: string) =>
		[...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
			heading
				.toLowerCase()
				.replaceAll(/[^\p{L}\p{N}\s-]/gu, "")
				.replaceAll(" ", "-"),
		);

	for (const file of documents)
		test(file, () => {
			const links = [...read(file).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)/g)];
			for (const [link, path = "", anchor] of links) {
				const target = path === "" ? file : join(dirname(file), path);
				assert.ok(existsSync(target) && (!anchor || anchorsOf(target).includes(anchor)), link);
			}
		});
});

test("documents name existing files, folders and tests", () => {
	const tops = "(?:device|gateway|hosts|scripts|test)";
	for (const file of documents) {
		const named = read(file).matchAll(new RegExp(`\x60(${tops}/[\\w./-]*)\x60`, "g"));
		for (const [, path = ""] of named)
			assert.ok(existsSync(path) || existsSync(`${path}.test.ts`), `${file} names ${path}`);
	}
});

const blocksOf = (file: string, language: string) =>
	[...read(file).matchAll(new RegExp(`^\\x60{3}${language}\\n(.+?)^\\x60{3}$`, "gms"))].map(
		([, block = ""]) => block,
	);

describe("the examples parse:", () => {
	for (const file of documents)
		test(file, () => {
			for (const block of blocksOf(file, "json")) JSON.parse(block);
			for (const input of blocksOf(file, "sh")) {
				const { status, stderr } = spawnSync("sh", ["-n"], { input, encoding: "utf8" });
				assert.equal(status, 0, stderr);
			}
		});
});

describe("the examples match their schema:", () => {
	const schemas: Readonly<Record<string, readonly Schema[]>> = {
		announcements: [announcementRequest],
		commands: [commandRequest],
		rollouts: [planRequest],
		schedules: [scheduleRequest, quietHoursRequest],
	};
	for (const [name, expected] of Object.entries(schemas)) {
		const file = `gateway/${name}/README.md`;
		test(file, { skip: existsSync(file) ? false : "deleted with its extension" }, () => {
			for (const [index, schema] of expected.entries()) {
				const value: unknown = JSON.parse(blocksOf(file, "json")[index] ?? "");
				assert.equal(describeProblem(findProblem(schema, value)), describeProblem(undefined));
			}
		});
	}
});
