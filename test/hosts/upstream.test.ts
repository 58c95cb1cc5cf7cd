/** Checks the table and the patches of hosts/upstream.md against the SDK. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { projectFolder } from "../../scripts/command-line/project.js";
import { sdkOrReason } from "./esp32/generated.js";

const hosts = join(projectFolder, "hosts");
const text = readFileSync(join(hosts, "upstream.md"), "utf8");
const entries = text.split(/^## /m).slice(1);
const { sdk, reason } = sdkOrReason();

describe("the patches to offer to the SDK", () => {
	test("each work-around that an entry names is a file or a folder of the project", () => {
		for (const entry of entries) {
			const [, workAround = ""] = /Here: ([\s\S]*?)(?:\n\n|$)/.exec(entry) ?? [];
			for (const [, path = ""] of workAround.matchAll(/`((?:\.\.\/)?[\w./-]+\/[\w.-]*)`/g))
				assert.ok(existsSync(join(hosts, path)), path);
		}
	});

	for (const entry of entries) {
		const patches = Array.from(entry.matchAll(/^```diff\n([\s\S]*?)^```$/gm), ([, patch = ""]) => patch);
		const title = entry.slice(0, entry.indexOf("\n"));
		if (patches.length > 0)
			test(`applies to the SDK by itself: ${title}`, { skip: reason }, () => {
				for (const patch of patches) {
					const apply = spawnSync("git", ["apply", "--check", "--verbose", "-"], {
						cwd: sdk?.folder,
						input: patch,
						encoding: "utf8",
					});
					assert.equal(apply.status, 0, apply.stderr);
					// Not by way of another folder's repository, where nothing would be checked.
					assert.doesNotMatch(apply.stderr, /Skipped/);
				}
			});
	}
});
