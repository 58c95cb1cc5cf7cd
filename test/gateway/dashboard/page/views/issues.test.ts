import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { DeviceIssue } from "../../../../../gateway/api/issues.js";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { IssuesView } = await import("../../../../../gateway/dashboard/page/views/issues.js");

const since = "2026-01-01T11:00:00.000Z";
const issue = (kind: DeviceIssue["kind"], seen = false) => ({ attention: [{ kind, since, seen }] });
const devices = [
	speaker("a", { name: "Oven", ...issue("safe_mode") }),
	speaker("b", { name: "Shelf", ...issue("safe_mode") }),
	speaker("c", { name: "Bed", ...issue("update_failed") }),
	speaker("d", { name: "Desk", ...issue("weak_signal") }),
	speaker("e", { name: "Hall", ...issue("faulty", true) }),
];
const replies = { "POST /api/issues/seen": {} };

function show(t: TestContext, options: MountOptions = {}) {
	return mount(t, IssuesView, {}, { devices, replies, ...options });
}

describe("issues view", () => {
	test("lists a row for each cause, hints and dismissed issues apart", async (t) => {
		const page = await show(t);
		const count = (list: string) => page.within("list", list).all("listitem").length;
		assert.match(page.find("heading", /issue/).textContent ?? "", /^2 /);
		assert.deepEqual([count("Issues"), count("Hints")], [2, 1]);
	});

	for (const [what, reply] of [
		["why the gateway is not ready", Response.json({ detail: "The disk is full." }, { status: 503 })],
		["a warning of the gateway", { warnings: ["The disk is full."] }],
	] as const)
		test(`lists ${what}`, async (t) => {
			const page = await show(t, { replies: { ...replies, "GET /readyz": reply } });
			assert.equal(page.has("button", "The disk is full."), true);
			assert.match(page.find("heading", /issue/).textContent ?? "", /^3 /);
		});

	test("names the devices of a row", async (t) => {
		const page = await show(t);
		await page.click("button", /^safe mode/i);
		assert.deepEqual(page.within("dialog").texts("link"), ["Oven", "Shelf"]);
	});

	test("dismisses an issue on all its devices", async (t) => {
		const page = await show(t);
		await page.click("button", /^Dismiss.*safe mode/i);
		const items = ["a", "b"].map((id) => ({ kind: "safe_mode", id, since }));
		assert.deepEqual(page.gateway.changes, [["POST /api/issues/seen", { items }]]);
		const seen = devices.map((device) => ({ ...device, ...issue("safe_mode", true) }));
		page.gateway.sendSummary("changed", seen);
		await page.advance();
		assert.equal(page.has("list", "Issues"), false);
	});

	test("leads from a failed update to a new one", async (t) => {
		const page = await show(t);
		assert.equal(page.find("link", /^Update/).getAttribute("href"), "#/firmware?devices=c");
	});

	for (const connected of [true, false])
		test(`says that there is none, with ${connected ? "connected" : "offline"} devices`, async (t) => {
			const page = await show(t, { devices: [speaker("a", { connected, lastSeenAt: since })] });
			assert.equal(page.has("list", "Issues"), false);
			assert.equal(page.has("button", /^Dismiss/), false);
		});
});
