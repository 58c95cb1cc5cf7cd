import assert from "node:assert/strict";
import { test } from "node:test";
import { extensions } from "../../../gateway/extensions.js";
import { eventually } from "../../support/eventually.js";
import { runGateway } from "../../support/running.js";

test("yields the event loop during a job for a disconnected fleet", async (t) => {
	let turns = 0;
	const counted = extensions.map((create) => (core: Parameters<typeof create>[0]) => {
		const yieldToLoop = () => {
			turns += 1;
			return core.yieldToLoop();
		};
		return create({ ...core, yieldToLoop });
	});
	const { api } = await runGateway(t, { extensions: counted });
	const devices = Array.from({ length: 100 }, (_, number) => `dev-1-${String(number).padStart(6, "0")}`);
	const payload = { command: "set_volume", value: 40 };
	const begun = await api("POST", "/api/commands", { targets: { devices }, payload });
	assert.equal(begun.status, 202);
	const readJob = async () => (await api("GET", `/api/commands/${begun.body.id}`)).body;
	await eventually(readJob, ({ endedAt }) => endedAt !== null);
	assert.ok(turns >= devices.length, `${turns} turns`);
});
