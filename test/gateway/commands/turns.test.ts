import assert from "node:assert/strict";
import { test } from "node:test";
import { countLoopTurns } from "../../support/counted-turns.js";
import { eventually } from "../../support/eventually.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";

test("yields the event loop during a job for a disconnected fleet", async (t) => {
	const { turns, extensions } = countLoopTurns();
	const { url } = await runGateway(t, { extensions });
	const headers = bearer(monitorToken);
	const devices = Array.from({ length: 100 }, (_, number) => `dev-1-${String(number).padStart(6, "0")}`);
	const body = JSON.stringify({ targets: { devices }, payload: { command: "set_volume", value: 40 } });
	const begun = await fetch(`${url}/api/commands`, { method: "POST", headers, body });
	assert.equal(begun.status, 202);
	await eventually(
		async () => JSON.parse(await (await fetch(`${url}${begun.headers.get("location")}`, { headers })).text()),
		({ endedAt }) => endedAt !== null,
	);
	assert.ok(turns.count >= devices.length, `${turns.count} turns`);
});
