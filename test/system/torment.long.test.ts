/**
 * Three minutes of chaos, of a fresh seed that is printed. TORMENT_SEED repeats one, TORMENT_MINUTES makes it longer or shorter.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../support/command-line.js";

const seed = process.env.TORMENT_SEED || String(Date.now() % 1_000_000);
const minutes = process.env.TORMENT_MINUTES || "3";

test("all guarantees hold through minutes of random faults", async (t) => {
	t.diagnostic(`TORMENT_SEED=${seed}`);
	const torment = runCommand(t, "test/torment/main.ts", ["--seed", seed, "--minutes", minutes]);
	assert.equal(await torment.exitCode, 0, torment.output());
	t.diagnostic(torment.output().trim());
	await torment.processesGone();
});
