/** Import rules of gateway/extension.ts: an extension can be deleted with its folder and its line. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { coreFolders, extensionNames, lists, pathsOf } from "./extension-parts.js";
import { readImports } from "./imports.js";

const imports = readImports();

test("has a file extension.ts and tests of each extension, and all of its parts", () => {
	const folders = readdirSync("gateway", { withFileTypes: true }).filter((entry) => entry.isDirectory());
	const unknown = folders
		.map(({ name }) => name)
		.filter((name) => !coreFolders.includes(name) && !extensionNames.includes(name));
	assert.deepEqual(unknown, [], "add its extension.ts, or add it to test/gateway/extension-parts.ts");
	const exists = (name: string) => existsSync(`gateway/${name}`);
	const removed = extensionNames.filter((name) => !exists(name)).flatMap(pathsOf);
	// Parts of an extension may require another one that was removed.
	const missing = extensionNames
		.filter(exists)
		.flatMap(pathsOf)
		.filter((path) => !existsSync(path) && !removed.some((folder) => path.startsWith(folder)));
	assert.deepEqual(missing, [], "add these tests, or change test/gateway/extension-parts.ts");
});

test("lists each table of routes in gateway/api/routes.ts", () => {
	const sources = readdirSync("gateway/api")
		.filter((name) => name.endsWith(".ts"))
		.map((name) => readFileSync(`gateway/api/${name}`, "utf8"));
	const tables = sources.flatMap((text) => [...text.matchAll(/^export const (\w+) = defineRoutes\(/gm)]);
	const listed = readFileSync("gateway/api/routes.ts", "utf8");
	const unlisted = tables.map(([, name = ""]) => name).filter((name) => !listed.includes(`\t${name},`));
	assert.deepEqual(unlisted, [], "add it to gateway/api/routes.ts");
	assert.ok(tables.length > 15, `${tables.length} tables`);
});

test("imports an extension only from its own parts", () => {
	const found: string[] = [];
	for (const name of extensionNames) {
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
	const isBack = (pair: { from: string; to: string }) =>
		pairs.some(({ from, to }) => from === pair.to && to === pair.from);
	const mutual = pairs.filter(isBack).map(({ text }) => text);
	assert.deepEqual(mutual, []);
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
