/** Checks the table and the patches of hosts/upstream.md against the SDK. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { projectFolder } from "../../scripts/command-line/project.js";
import { sdkOrReason } from "../support/programs.js";

const hosts = join(projectFolder, "hosts");
const text = readFileSync(join(hosts, "upstream.md"), "utf8");
const rows = text.split("\n").filter((line) => /^\| (?!symptom|---)/.test(line));
const patches = Array.from(text.matchAll(/^```diff\n([\s\S]*?)^```$/gm), ([, block = ""]) => block).flatMap(
	(block) => block.split(/^# /m).slice(1),
);
const { sdk, reason } = sdkOrReason();

describe("patches for the SDK", () => {
	test("exist for the files that the table marks", () => {
		assert.ok(rows.length > 20 && patches.length > 5, `${rows.length} rows, ${patches.length} patches`);
		const patched = patches.map((patch) => /^--- a\/(.+)$/m.exec(patch)?.[1]);
		for (const row of rows.filter((line) => line.endsWith(" | yes |")))
			assert.ok(
				patched.some((file) => file && row.includes(file.replace(/[^/]*$/, ""))),
				row,
			);
	});

	test("belong to work-arounds that exist in the project", () => {
		for (const row of rows) {
			const [, , workAround = ""] = row.split(" | ");
			for (const [, path = ""] of workAround.matchAll(/`((?:\.\.\/)?[\w./-]+\/[\w.-]*)`/g))
				assert.ok(existsSync(join(hosts, path)), path);
		}
	});

	for (const patch of patches) {
		const title = patch.slice(0, patch.indexOf("\n"));
		test(`apply to the SDK separately: ${title}`, { skip: reason }, () => {
			const apply = spawnSync("git", ["apply", "--check", "--verbose", "-"], {
				cwd: sdk?.folder,
				input: patch,
				encoding: "utf8",
			});
			assert.equal(apply.status, 0, apply.stderr);
			// Skipped patches belong to another repository and are not checked.
			assert.doesNotMatch(apply.stderr, /Skipped/);
		});
	}
});
