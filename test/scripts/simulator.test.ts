/** The command line of `npm run simulator`, without a Moddable SDK. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../support/cleanup.js";
import { runCommand } from "../support/command-line.js";

const desktops: Readonly<Record<string, string>> = { darwin: "mac", win32: "win" };
const desktop = desktops[process.platform] ?? "lin";

test("npm run simulator -- dev-1 --debug says what to build where the SDK has no xsbug", async (t) => {
	const folder = await temporaryDirectory(t);
	for (const file of ["tools/mcconfig.js", `build/bin/${desktop}/release/mcconfig`]) {
		mkdirSync(join(folder, dirname(file)), { recursive: true });
		writeFileSync(join(folder, file), "", { mode: 0o755 });
	}
	const environment = { MODDABLE: folder, DEVICE_TOKEN: "device-token-of-the-tests", DISPLAY: "" };
	for (const flag of ["--debug", "debug"]) {
		const command = runCommand(t, "scripts/simulator.ts", ["dev-1", flag], environment);
		assert.equal(await command.exitCode, 1);
		const output = command.output();
		assert.match(output, /^--debug needs xsbug, which is not at .*xsbug.*\. Build it: cd .* && make release/);
	}
});
