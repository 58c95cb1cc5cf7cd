import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findLackingPath, manifests, sdkPathsOf } from "../../scripts/moddable/sdk-paths.js";
import { sdkOrReason, testMachine } from "../support/programs.js";

const { sdk, reason: skip } = sdkOrReason();

test("each firmware manifest that names files of the SDK is compared with it", () => {
	const files = execFileSync("git", ["ls-files", "*manifest.json", "hosts/*.json"], { encoding: "utf8" });
	const naming = [...new Set(files.trim().split("\n"))]
		.filter((file) => !file.startsWith("test/"))
		.filter((file) => /\$\((MODDABLE|MODULES)\)/.test(readFileSync(file, "utf8")));
	assert.deepEqual([...manifests].sort(), naming.sort());
	for (const file of manifests) {
		const named = readFileSync(file, "utf8").match(/\$\((MODDABLE|MODULES)\)/g)?.length;
		assert.equal(sdkPathsOf(file).length, named, file);
	}
});

test("the SDK has all paths that the manifests name", { skip }, () => {
	assert.ok(sdk, skip);
	assert.equal(findLackingPath(testMachine, sdk.folder), undefined);
});

test("the SDK has each file in which hosts/upstream.md locates a defect", { skip }, () => {
	assert.ok(sdk, skip);
	const rows = readFileSync("hosts/upstream.md", "utf8").match(/^\| .+$/gm) ?? [];
	const paths = rows.flatMap((row) =>
		Array.from(row.split(" | ")[1]?.matchAll(/`([^`]+\/[^`]*)`/g) ?? [], ([, path = ""]) => path),
	);
	assert.ok(paths.length > 20, "the table names its files");
	const missing = paths.filter((path) => !existsSync(join(sdk.folder, path)));
	assert.deepEqual(missing, []);
});
