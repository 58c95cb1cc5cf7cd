import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { runCommand } from "../support/command-line.js";

const deviceId = "dev-1-a1b2c3";

describe("npm run log", { concurrency: availableParallelism() }, () => {
	for (const [what, words, env, message] of [
		["no device", [], {}, /Specify a device id/],
		["two devices", [deviceId, "dev-1-000000"], {}, /Specify one device\./],
		["an invalid device id", ["a b"], {}, /"a b" is not a device id/],
		["too long a time", [deviceId, "--seconds", "601"], {}, /--seconds must be a whole number from 1 to 600/],
		["an invalid address", [deviceId, "--gateway", "here"], {}, /--gateway must be an address/],
		[
			"no token",
			[deviceId],
			{ DATA_DIR: "/no/such/folder" },
			/no monitor token was found\. Set MONITOR_TOKEN/,
		],
	] as const)
		test(`rejects ${what}`, async (t) => {
			const log = runCommand(t, "scripts/log.ts", words, env);
			assert.equal(await log.exitCode, 1);
			assert.match(log.output(), message);
		});
});
