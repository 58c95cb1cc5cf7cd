import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isProblem, thisMachine } from "../../scripts/command-line/machine.js";
import { findSdk } from "../../scripts/moddable/sdk.js";
import { findLackingPath, manifests, sdkPathsOf } from "../../scripts/moddable/sdk-paths.js";

const machine = thisMachine();
const sdk = findSdk(machine);
const skip = isProblem(sdk) ? sdk.problem : false;

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
	assert.ok(!isProblem(sdk), `no SDK: ${JSON.stringify(sdk)}`);
	assert.equal(findLackingPath(machine, sdk.folder), undefined);
});

test("the SDK has each file in which hosts/upstream.md locates a defect", { skip }, () => {
	assert.ok(!isProblem(sdk), `no SDK: ${JSON.stringify(sdk)}`);
	const rows = readFileSync("hosts/upstream.md", "utf8").match(/^\| .+$/gm) ?? [];
	const paths = rows.flatMap((row) =>
		Array.from(row.split(" | ")[1]?.matchAll(/`([^`]+\/[^`]*)`/g) ?? [], ([, path = ""]) => path),
	);
	assert.ok(paths.length > 20, "the table names its files");
	assert.deepEqual(
		paths.filter((path) => !existsSync(join(sdk.folder, path))),
		[],
	);
});
