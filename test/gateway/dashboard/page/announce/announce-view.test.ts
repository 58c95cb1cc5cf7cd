import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { AnnounceView } = await import("../../../../../gateway/dashboard/page/announce/announce-view.js");

const oven = speaker("a", { name: "Oven", room: "Kitchen", tags: ["beta"] });
const shelf = speaker("b", { name: "Shelf", room: "Hall" });
const devices = [oven, shelf];
const dinner = {
	id: "d1",
	name: "Dinner",
	seconds: 2,
	size: 1,
	sha256: "d1",
	createdAt: "2026-01-01T11:00Z",
};
const replies = {
	"GET /api/sounds": { sounds: [dinner], canSpeak: true },
	"POST /api/announcements": { id: "1" },
};

function show(t: TestContext, search = "", options: MountOptions = {}) {
	return mount(t, AnnounceView, { search }, { devices, replies, ...options });
}

describe("announce view", () => {
	for (const { what, search = "", fields = {}, checks = [], sent } of [
		{ what: "on all devices", sent: { targets: { all: true } } },
		{ what: "in the room of the address", search: "?room=Kitchen", sent: { targets: { room: "Kitchen" } } },
		{ what: "on the device of the address", search: "?devices=b", sent: { targets: { devices: ["b"] } } },
		{ what: "in a chosen room", fields: { "Play on": "Hall (1)" }, sent: { targets: { room: "Hall" } } },
		{
			what: "on devices with a tag",
			fields: { "Play on": "Devices with tags…", Tags: "beta" },
			sent: { targets: { tags: "beta" } },
		},
		{
			what: "with its options",
			checks: ["Chime first", "Set announcement volume", /^Urgent/],
			fields: { "Announcement volume": 30 },
			sent: { targets: { all: true }, chime: "attention", volume: 30, priority: "urgent" },
		},
	])
		test(`announces a text ${what}`, async (t) => {
			const page = await show(t, search);
			const name = /^Announce/;
			assert.ok(page.isOff("button", name), "without a text");
			await page.enter("Message", " Dinner ");
			for (const check of checks) await page.click("checkbox", check);
			for (const [label, value] of Object.entries(fields)) await page.enter(label, value);
			await page.click("button", name);
			assert.deepEqual(page.gateway.changes, [["POST /api/announcements", { text: "Dinner", ...sent }]]);
		});

	test("announces a saved sound, unless it was deleted meanwhile", async (t) => {
		let sounds = [dinner];
		const listed = { ...replies, "GET /api/sounds": () => ({ sounds, canSpeak: false }) };
		const page = await show(t, "", { replies: listed });
		await page.click("button", "Saved");
		await page.enter("Saved sound", "Dinner");
		await page.click("button", /^Announce/);
		const sent = ["POST /api/announcements", { sound: "d1", targets: { all: true } }];
		assert.deepEqual(page.gateway.changes, [sent]);
		sounds = [];
		await page.click("button", /^Announce/);
		assert.match(`${page.problems}`, /Dinner/);
		assert.equal(page.gateway.changes.length, 1);
	});

	test("deletes a saved sound only after confirmation", async (t) => {
		const removed = { ...replies, "DELETE /api/sounds/d1": {} };
		const page = await show(t, "", { replies: removed });
		await page.click("button", "Saved");
		await page.enter("Saved sound", "Dinner");
		for (const [answer, count] of [
			["Cancel", 0],
			["Delete sound", 1],
		] as const) {
			await page.click("button", "Delete Dinner");
			await page.within("dialog").click("button", answer);
			assert.equal(page.gateway.changes.length, count, answer);
		}
	});

	test("asks before it announces on more than 20 devices", async (t) => {
		const many = Array.from({ length: 21 }, (_, index) => speaker(`d${index}`));
		const page = await show(t, "", { devices: many });
		await page.enter("Message", "Dinner");
		await page.click("button", /^Announce/);
		assert.deepEqual(page.gateway.changes, []);
		await page.within("dialog").click("button", /^Announce/);
		assert.equal(page.gateway.changes.length, 1);
	});

	test("shows why the gateway rejected an announcement, and keeps the text", async (t) => {
		const full = () => Response.json({ detail: "Too many announcements." }, { status: 429 });
		const page = await show(t, "", { replies: { ...replies, "POST /api/announcements": full } });
		await page.enter("Message", "Dinner");
		await page.click("button", /^Announce/);
		assert.deepEqual(page.problems, ["Too many announcements."]);
		assert.equal(page.field("Message").value, "Dinner");
	});

	for (const [canSpeak, sources] of [
		[true, ["Text", "File", "Saved"]],
		[false, ["File", "Saved"]],
	] as const)
		test(`offers ${sources} ${canSpeak ? "with" : "without"} a voice, and no microphone over http`, async (t) => {
			const sounds = { "GET /api/sounds": { sounds: [], canSpeak } };
			const page = await show(t, "", { replies: sounds });
			assert.deepEqual(page.within("group", "Source").texts("button"), sources);
		});
});
