import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { sdkOrReason } from "../support/programs.js";

const { sdk, reason: skip } = sdkOrReason();

test("the SDK has all paths that the manifests name", { skip }, () => {
	assert.ok(sdk, skip);
	const files = execFileSync("git", ["ls-files", "manifest.json", "hosts/*.json"], { encoding: "utf8" });
	const paths = files
		.trim()
		.split("\n")
		.flatMap((file) => [...readFileSync(file, "utf8").matchAll(/"\$\((MODDABLE|MODULES)\)\/([^"]+)"/g)])
		.map(([, root, path = ""]) => (root === "MODULES" ? `modules/${path}` : path));
	assert.ok(paths.length > 20, `the manifests name ${paths.length} paths`);
	const missing = paths.filter((path) => {
		// Folders by platform, which not every module has.
		const known = (path.split("$(PLATFORM)")[0] ?? "").replace(/\/$/, "");
		// In the notation of mcconfig: modules without suffix, and `*` as a wildcard.
		const own = basename(known);
		const folder = join(sdk.folder, dirname(known));
		const names = existsSync(folder) ? readdirSync(folder) : [];
		return !names.some((name) => `${name}.`.startsWith(own.endsWith("*") ? own.slice(0, -1) : `${own}.`));
	});
	assert.deepEqual(missing, []);
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
