import assert from "node:assert/strict";
import { test } from "node:test";
import {
	type DeviceStatus,
	deviceStatuses,
	failureStatuses,
	zeros,
} from "../../../../../gateway/api/statuses.js";
import { speaker } from "../gateway.js";
import { mount } from "../mount.js";

const { RolloutPage } = await import("../../../../../gateway/dashboard/page/views/rollout.js");

const counts = zeros(deviceStatuses);
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

test("offers to review the failures that paused a rollout, with the room of each device", async (t) => {
	const device = {
		status: "failed",
		group: 0,
		attempts: 1,
		reason: "no space",
		version: null,
		changedAt: null,
	};
	const view = await mount(
		t,
		RolloutPage,
		{ id: "autumn" },
		{
			devices: [speaker("a", { name: "Counter", room: "Mainz" })],
			replies: {
				"GET /api/rollouts": {
					rollouts: [{ ...head, pausedBecause: "failures", counts: { ...counts, queued: 60, failed: 1 } }],
				},
				[`GET /api/rollouts/autumn/devices?${new URLSearchParams({ status: failureStatuses.join() })}`]: {
					devices: [{ ...device, deviceId: "a" }],
				},
			},
		},
	);
	const review = view.find("button", "Review 1 failed");
	const primary = view.all("button").filter((button) => button.matches(".primary"));
	assert.deepEqual(primary, [review], "the only primary button");
	await view.click("button", "Review 1 failed");
	assert.equal(view.find("button", /^1 failed$/).getAttribute("aria-pressed"), "true");
	assert.match(view.texts("listitem").join(), /CounterMainz.*no space/i);
});

test("shows why a rollout that somebody else changed meanwhile was not resumed, and its present state", async (t) => {
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

test("loads the devices again when the gateway reports progress", async (t) => {
	let status: DeviceStatus = "queued";
	const progress = { id: "autumn", version: "1.4.0", status: "running", pausedBecause: null } as const;
	const device = { group: 0, attempts: 1, reason: null, version: null, changedAt: null };
	const view = await mount(
		t,
		RolloutPage,
		{ id: "autumn" },
		{
			devices: [speaker("a", { name: "Counter" })],
			replies: {
				"GET /api/rollouts": { rollouts: [{ ...head, ...progress, counts: { ...counts, queued: 1 } }] },
				[`GET /api/rollouts/autumn/devices?${new URLSearchParams({ status: deviceStatuses.join() })}`]:
					() => ({
						devices: [{ ...device, deviceId: "a", status }],
					}),
			},
		},
	);
	assert.match(view.texts("listitem").join(), /Counter.*Waiting/);
	status = "rebooting";
	view.gateway.send({
		type: "rollout_update",
		...progress,
		counts: { ...zeros(deviceStatuses), rebooting: 1 },
		revision: 4,
	});
	await view.advance();
	assert.match(view.texts("listitem").join(), /Counter.*Restarting/);
});
