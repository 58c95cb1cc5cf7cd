import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type Reply, speaker } from "../gateway.js";
import { mount } from "../mount.js";

const { DeviceView } = await import("../../../../../gateway/dashboard/page/views/device.js");

const label = { name: "Lobby", room: "Hall", note: "Mains behind\nthe plant", tags: ["beta", "shop"] };
const view = { deviceKey: "a", tab: "overview" } as const;
const route = "PATCH /api/devices/a";

async function openDialog(t: TestContext, reply: Reply = {}) {
	const page = await mount(t, DeviceView, view, {
		devices: [speaker("a", label)],
		replies: { [route]: reply },
	});
	await page.click("button", /^Edit name/);
	return page;
}

describe("dialog for the label of a device", () => {
	for (const { fields, sent } of [
		{ fields: { Name: "Door" }, sent: { name: "Door" } },
		{ fields: { Tags: "shop  beta, shop" }, sent: undefined },
		{ fields: { Room: " Hall " }, sent: undefined },
		{
			fields: { Room: "", Tags: "new" },
			sent: { room: "", tags: ["new"] },
		},
	])
		test(`sends ${JSON.stringify(sent)} after ${JSON.stringify(fields)} was entered`, async (t) => {
			const page = await openDialog(t);
			for (const [name, text] of Object.entries(fields)) await page.enter(name, text);
			await page.click("button", "Save");
			assert.equal(page.has("dialog"), false);
			assert.deepEqual(page.gateway.changes, sent === undefined ? [] : [[route, sent]]);
		});

	test("leaves what another person has changed while it was open", async (t) => {
		const page = await openDialog(t);
		page.gateway.sendSummary("changed", [speaker("a", { ...label, room: "Attic" })]);
		await page.advance();
		await page.enter("Name", "Door");
		await page.click("button", "Save");
		assert.deepEqual(page.gateway.changes, [[route, { name: "Door" }]]);
	});

	for (const { what, reply, tags, problem } of [
		{
			what: "the gateway rejects it",
			reply: () => Response.json({ detail: "Too long." }, { status: 422 }),
			tags: "new",
			problem: /Too long/,
		},
		{ what: "a tag is invalid", reply: {}, tags: "not", problem: /not/ },
	])
		test(`stays open with the reason and the input if ${what}`, async (t) => {
			const page = await openDialog(t, reply);
			await page.enter("Tags", tags);
			await page.click("button", "Save");
			assert.match(`${page.within("dialog").problems}`, problem);
			assert.equal(page.field("Tags").value, tags);
		});
});
