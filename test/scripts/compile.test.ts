import assert from "node:assert/strict";
import { access, cp, mkdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { compile, compiledPath } from "../../scripts/test/compile.js";
import { temporaryDirectory } from "../support/cleanup.js";

test("compiles changed sources, keeps their references, and deletes outputs without a source", async (t) => {
	const root = await temporaryDirectory(t);
	// The compilation of this file replaces it in one piece.
	const meta = "meta";
	const source = (name: string) => join("test", name);
	const write = (name: string, text: string) => writeFile(join(root, source(name)), text);
	const read = (name: string) => readFile(join(root, compiledPath(source(name))), "utf8");
	await mkdir(join(root, "test"));
	const paths = { timer: ["./test/b.ts"] };
	await writeFile(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions: { paths } }));
	await write(
		"a.ts",
		`import data from "./data.json" with { type: "json" };
		import Timer from "timer";
		console.log(data, Timer, import.${meta}.url);`.replaceAll("\n\t\t", "\n"),
	);
	await write("b.ts", "export default 1 as number;");
	await compile(root);
	const a = await read("a.ts");
	for (const file of [source("data.json"), compiledPath(source("b.ts")), source("a.ts")])
		assert.ok(a.includes(`"${pathToFileURL(join(root, file)).href}"`), a);

	const copy = join(await temporaryDirectory(t), "copy");
	await cp(root, copy, { recursive: true, preserveTimestamps: true });
	await compile(copy);
	const copied = await readFile(join(copy, compiledPath(source("a.ts"))), "utf8");
	assert.ok(!copied.includes(pathToFileURL(root).href), copied);

	await write("a.ts", "export const a = 2;");
	await utimes(join(root, source("a.ts")), new Date(), new Date(Date.now() + 1000));
	await rm(join(root, source("b.ts")));
	await compile(root);
	assert.match(await read("a.ts"), /a = 2/);
	await assert.rejects(access(join(root, compiledPath(source("b.ts")))));
});
