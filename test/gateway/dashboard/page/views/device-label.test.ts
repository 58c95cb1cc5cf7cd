import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { auditText } from "../../../../../gateway/dashboard/page/model/audit-text.js";
import { speaker } from "../gateway.js";
import { mount } from "../mount.js";

const { DeviceView } = await import("../../../../../gateway/dashboard/page/views/device.js");

const label = { name: "Lobby", room: "Hall", note: "Mains behind\nthe plant", tags: ["beta", "shop"] };
const view = { deviceKey: "a", tab: "overview" } as const;
const route = "PATCH /api/devices/a";

describe("dialog for the label of a device", () => {
	for (const { fields, sent, audit } of [
		{ fields: { Name: "Door" }, sent: { name: "Door" }, audit: /^set the name to “Door”$/ },
		{ fields: { Tags: "shop  beta, shop" }, sent: undefined },
		{ fields: { Room: " Hall " }, sent: undefined },
		{
			fields: { Room: "", Tags: "new" },
			sent: { room: "", tags: ["new"] },
			audit: /^set the tags to “new” and removed the room$/,
		},
	])
		test(`sends ${JSON.stringify(sent)} after ${JSON.stringify(fields)} was entered`, async (t) => {
			const page = await mount(t, DeviceView, view, {
				devices: [speaker("a", label)],
				replies: { [route]: {} },
			});
			await page.click("button", "Edit name, room, note and tags");
			for (const [name, text] of Object.entries(fields)) await page.enter(name, text);
			await page.click("button", "Save");
			assert.equal(page.has("dialog"), false);
			assert.deepEqual(page.gateway.changes, sent === undefined ? [] : [[route, sent]]);
			const change = { what: route, detail: JSON.stringify(sent), deviceId: "a" };
			if (audit) assert.match(auditText(change).text, audit);
		});
});
