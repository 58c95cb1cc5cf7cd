import assert from "node:assert/strict";
import { cp, symlink, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { runCommand } from "../../support/command-line.js";
import { temporaryDirectory } from "../../support/running.js";

/** Compiler stub without output. Its version is unique, so that no cached build matches. */
const compiler = (folder: string) => `#!/bin/sh
if [ "$1" = --version ]; then echo "quick ${folder}"; exit; fi
while [ $# -gt 1 ]; do if [ "$1" = -o ]; then : > "$2"; fi; shift; done
`;

test("compiles the XS engine in a project with any path, and reports its progress in files", async (t) => {
	const folder = await temporaryDirectory(t);
	const project = join(folder, `it's my "projects" (new) & 50% $HOME #1: a\\b`);
	for (const part of [
		"hosts/esp32/manifest.json",
		"hosts/virtual/machine",
		"hosts/virtual/node/build.ts",
		"hosts/virtual/node/xs.ts",
		"package.json",
	])
		await cp(part, join(project, part), { recursive: true });
	await symlink(resolve("node_modules"), join(project, "node_modules"));
	await writeFile(join(folder, "cc"), compiler(folder), { mode: 0o755 });
	const script = join(folder, "build.ts");
	const module = pathToFileURL(join(project, "hosts/virtual/node/build.ts")).href;
	await writeFile(
		script,
		`import { buildMachine } from ${JSON.stringify(module)};\nbuildMachine().then((path) => console.log(path));\n`,
	);
	const build = () => runCommand(t, script, [], { PATH: `${folder}${delimiter}${process.env.PATH}` });
	const first = build();
	assert.equal(await first.exitCode, 0, first.output());
	const lines = first.output().trimEnd().split("\n");
	const executable = lines.pop() ?? "";
	assert.ok(executable.startsWith(join(project, ".cache/virtual/machine-")), executable);
	const [, total = ""] =
		/^compiling the XS engine \(first run only\): 0 of (\d+) files$/.exec(lines[0] ?? "") ?? [];
	assert.ok(Number(total) > 50, first.output());
	assert.equal(lines.at(-1), `compiling the XS engine (first run only): ${total} of ${total} files`);
	const second = build();
	assert.equal(await second.exitCode, 0);
	assert.equal(second.output().trimEnd(), executable, "once");
});
