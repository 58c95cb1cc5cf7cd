/** Import rules of gateway/extension.ts: an extension can be deleted with its folder and its line. */

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { type ExtensionName, extensionParts, isExtension, lists, pathsOf } from "./extension-parts.js";
import { readImports } from "./imports.js";

/** Folders of the core; all others in gateway/ are extensions. */
const coreFolders = [
	"access",
	"api",
	"firmware",
	"http",
	"jobs",
	"services",
	"sessions",
	"sockets",
	"uplinks",
	"storage",
	"telemetry",
];

const imports = readImports();

test("lists the parts of each extension folder", () => {
	const folders = readdirSync("gateway", { withFileTypes: true }).filter((entry) => entry.isDirectory());
	const unlisted = folders
		.map(({ name }) => name)
		.filter((name) => !coreFolders.includes(name) && !isExtension(name));
	assert.deepEqual(unlisted, [], "add it to test/gateway/extension-parts.ts");
	const extensions = Object.keys(extensionParts).filter(isExtension);
	const exists = (name: ExtensionName) => existsSync(`gateway/${name}`);
	const removed = extensions.filter((name) => !exists(name)).flatMap(pathsOf);
	// Tests of an extension may require another one that was removed.
	const hasTests = (path: string) => existsSync(path) || removed.includes(path);
	const untested = extensions.filter((name) => exists(name) && !hasTests(`test/gateway/${name}`));
	assert.deepEqual(untested, [], "add its tests in test/gateway/<name>/");
	const stale = extensions
		.filter(exists)
		.flatMap((name) => extensionParts[name])
		.filter((path) => !existsSync(path) && !removed.some((folder) => path.startsWith(folder)));
	assert.deepEqual(stale, [], "remove or move it in test/gateway/extension-parts.ts");
});

test("imports an extension only from its own parts", () => {
	const found: string[] = [];
	for (const name of Object.keys(extensionParts).filter(isExtension)) {
		const paths = pathsOf(name);
		const isPart = (file: string) => paths.some((path) => file === path || file.startsWith(`${path}/`));
		for (const [file, targets] of imports) {
			if (isPart(file) || lists.includes(file)) continue;
			found.push(...targets.filter(isPart).map((target) => `${file} → ${target}`));
		}
	}
	assert.deepEqual(found, []);
	assert.ok(imports.size > 400, `${imports.size} files were read`);
});

test("imports no interface of an extension into the core", () => {
	const ownInterface =
		/^gateway\/api\/(channels|commands|faults|firmware|frames|health|json|label|login|permissions|person|route|session|statuses|tags|text|time|time-zone|update)\.ts$/;
	const isCore = (file: string) => {
		const [, folder = "", name] = file.split("/");
		if (folder === "api" || folder === "jobs") return false;
		return file.startsWith("gateway/") && (name === undefined || coreFolders.includes(folder));
	};
	const found = [...imports].flatMap(([file, targets]) =>
		targets
			.filter((target) => isCore(file) && target.startsWith("gateway/api/") && !ownInterface.test(target))
			.map((target) => `${file} → ${target}`),
	);
	assert.deepEqual(found, []);
});

test("has no mutual imports between folders of gateway/", () => {
	const unitOf = (file: string) => file.split("/").slice(0, 2).join("/");
	const isGateway = (file: string) =>
		file.startsWith("gateway/") && !file.startsWith("gateway/dashboard/page");
	const pairs = [...imports].flatMap(([file, targets]) =>
		targets
			.filter((target) => isGateway(file) && isGateway(target) && unitOf(file) !== unitOf(target))
			.map((target) => ({ from: unitOf(file), to: unitOf(target), text: `${file} → ${target}` })),
	);
	const isBack = (one: { from: string; to: string }) =>
		pairs.some(({ from, to }) => from === one.to && to === one.from);
	assert.deepEqual(
		pairs.filter(isBack).map(({ text }) => text),
		[],
	);
});

test("has no circular imports", () => {
	const done = new Set<string>();
	const path: string[] = [];
	const circles: string[] = [];
	const visit = (file: string) => {
		if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
		if (done.has(file)) return;
		done.add(file);
		path.push(file);
		for (const target of imports.get(file) ?? []) visit(target);
		path.pop();
	};
	for (const file of imports.keys()) if (file.startsWith("gateway/")) visit(file);
	assert.deepEqual(circles, []);
});
