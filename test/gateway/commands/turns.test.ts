import assert from "node:assert/strict";
import { test } from "node:test";
import { countLoopTurns } from "../../support/counted-turns.js";
import { eventually } from "../../support/eventually.js";
import { runGateway } from "../../support/running.js";

test("yields the event loop during a job for a disconnected fleet", async (t) => {
	const { turns, extensions } = countLoopTurns();
	const { api } = await runGateway(t, { extensions });
	const devices = Array.from({ length: 100 }, (_, number) => `dev-1-${String(number).padStart(6, "0")}`);
	const payload = { command: "set_volume", value: 40 };
	const begun = await api("POST", "/api/commands", { targets: { devices }, payload });
	assert.equal(begun.status, 202);
	const readJob = async () => (await api("GET", `/api/commands/${begun.body.id}`)).body;
	await eventually(readJob, ({ endedAt }) => endedAt !== null);
	assert.ok(turns.count >= devices.length, `${turns.count} turns`);
});
