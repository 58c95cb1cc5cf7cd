/** The rule of gateway/extension.ts, by reading imports: what is beside the core can be deleted with its folder and its line. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** Of the core; everything else is an extension. */
const coreFolders = ["access", "api", "firmware", "http", "sessions", "sockets", "storage", "telemetry"];
/** Those that name extensions. */
const lists = ["extensions.ts", "main.ts"];

const files = readdirSync("gateway", { recursive: true, encoding: "utf8" }).filter((file) =>
	/\.tsx?$/.test(file),
);
/** By path below gateway/: the files there that each imports, types too. */
const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): readonly string[] {
	const text = readFileSync(join("gateway", file), "utf8");
	return [...text.matchAll(/(?:from|import|import\() ?"(\.[^"]+)\.js"/g)].flatMap(([, path = ""]) => {
		const target = normalize(join(dirname(file), path));
		return [`${target}.ts`, `${target}.tsx`].filter((each) => files.includes(each));
	});
}

/** @returns the extension's folder; undefined for a file of the core */
function extensionOf(file: string): string | undefined {
	const [folder = "", ...rest] = file.split("/");
	return rest.length === 0 || coreFolders.includes(folder) ? undefined : folder;
}

test("the core imports no extension, and no extension imports another one", () => {
	const found: string[] = [];
	for (const [file, targets] of imports)
		for (const target of targets) {
			const extension = extensionOf(target);
			if (extension === undefined || extension === extensionOf(file) || lists.includes(file)) continue;
			found.push(`${file} → ${target}`);
		}
	assert.deepEqual(found, []);
	assert.ok(files.length > 100, `${files.length} files were read`);
});

test("no files import each other in a circle", () => {
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
	for (const file of imports.keys()) visit(file);
	assert.deepEqual(circles, []);
});
