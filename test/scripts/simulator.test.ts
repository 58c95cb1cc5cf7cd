/** Command line of `npm run simulator`, without a Moddable SDK. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import type { Model } from "../../device/protocol/schema.js";
import type { Desktop } from "../../scripts/moddable/sdk.js";
import { claimFolder, type SimulatorFolder } from "../../scripts/simulator/folder.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { callCommand } from "../support/command-line.js";

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
