import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceStatuses } from "../../../../../gateway/api/statuses.js";
import { mount } from "../mount.js";

const { RolloutPage } = await import("../../../../../gateway/dashboard/page/views/rollout.js");

test("shows why a rollout that somebody else changed meanwhile was not resumed, and its present state", async (t) => {
	const counts = Object.fromEntries(deviceStatuses.map((status) => [status, 0]));
	const head = {
		id: "autumn",
		version: "1.4.0",
		status: "paused",
		pausedBecause: "operator",
		standing: false,
		createdAt: "2026-01-01T11:00:00.000Z",
		endedAt: null,
		counts: { ...counts, queued: 2 },
		revision: 3,
	};
	let now = head;
	const detail = "The rollout has changed since revision 3. Load it again.";
	const view = await mount(
		t,
		RolloutPage,
		{ id: "autumn" },
		{
			replies: {
				"GET /api/rollouts": () => ({ rollouts: [now] }),
				"POST /api/rollouts/autumn/resume": () => {
					now = { ...head, status: "cancelled", revision: 4 };
					return Response.json({ detail }, { status: 412 });
				},
			},
		},
	);
	await view.click("button", "Resume");
	assert.deepEqual(view.problems, [detail]);
	assert.match(view.texts("status").join(), /^Canceled/);
	assert.equal(view.has("button", "Resume"), false);
});
