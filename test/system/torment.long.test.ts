/**
 * Random faults drawn from TEST_SEED for half a minute. TORMENT_MINUTES changes the duration; the round before a release takes 10.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../support/command-line.js";
import { seed, seedNote } from "../support/seed.js";

const minutes = process.env.TORMENT_MINUTES || "0.5";

test("all invariants hold during minutes of random faults", async (t) => {
	t.diagnostic(seedNote);
	const torment = runCommand(t, "test/torment/main.ts", ["--seed", String(seed), "--minutes", minutes]);
	assert.equal(await torment.exitCode, 0, torment.output());
	t.diagnostic(torment.output().trim());
	await torment.processesGone();
});
