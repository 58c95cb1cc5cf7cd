/** Command line of `npm run simulator`, without a Moddable SDK. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import type { Model } from "../../device/protocol/schema.js";
import type { Desktop } from "../../scripts/moddable/sdk.js";
import { sdkVersion } from "../../scripts/moddable/versions.js";
import { claimFolder, type SimulatorFolder } from "../../scripts/simulator/folder.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { callCommand } from "../support/command-line.js";
import { sdkFiles } from "../support/fake-machine.js";

const desktops: Readonly<Record<string, string>> = { darwin: "mac", win32: "win" };
const desktop = desktops[process.platform] ?? "lin";

test("npm run simulator -- dev-1 --debug names what to build if the SDK has no xsbug", async (t) => {
	const folder = await temporaryDirectory(t);
	for (const [file, content] of Object.entries(sdkFiles(folder, sdkVersion, desktop))) {
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, content, { mode: 0o755 });
	}
	const environment = { MODDABLE: folder, DEVICE_TOKEN: "device-token-of-the-tests", DISPLAY: "" };
	for (const flag of ["--debug", "debug"]) {
		const { code, output } = await callCommand("scripts/simulator.ts", ["dev-1", flag], environment);
		assert.equal(code, 1);
		assert.match(output, /xsbug\S* not found\. Fix: cd .* make release/);
	}
});

for (const name of ["token", "ssid", "gateway"])
	test(`npm run simulator rejects an empty ${name}=`, async () => {
		const { code, output } = await callCommand("scripts/simulator.ts", ["dev-1", `${name}=`], {
			DEVICE_TOKEN: "device-token-of-the-tests",
			DISPLAY: "",
		});
		assert.equal(code, 1);
		assert.match(output, new RegExp(`^${name}= has no value\\.`));
	});

test("two simulators of one model are two devices, and the first is the same the next time", async (t) => {
	const parent = await temporaryDirectory(t);
	const claim = (model: Model, desktop: Desktop = "lin") => claimFolder({ parent, model, desktop });
	const first = claim("DEV-1");
	const second = claim("DEV-1");
	const other = claim("PROTO-1");
	const nameOf = ({ path }: SimulatorFolder) => relative(parent, path);
	assert.deepEqual([first, second, other].map(nameOf), ["dev-1", "dev-1-2", "proto-1"]);
	first.close();
	const claimAgain = () => claim("PROTO-1", "mac");
	assert.throws(claimAgain, /^Error: A simulated PROTO-1 is already running, and another one would/);
	const again = claim("DEV-1", "mac");
	assert.equal(nameOf(again), "dev-1");
	// A killed process leaves its lock.
	writeFileSync(join(second.path, "pid"), String(spawnSync("true").pid));
	assert.equal(nameOf(claim("DEV-1")), "dev-1-2");
});
