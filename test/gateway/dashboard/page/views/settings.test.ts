import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { DeviceView } = await import("../../../../../gateway/dashboard/page/views/device.js");
const { SettingsView } = await import("../../../../../gateway/dashboard/page/views/settings.js");

const withSettings = speaker("a", { features: ["settings"] });

describe("settings of a device", () => {
	async function show(t: TestContext, options: MountOptions = {}) {
		const view = { deviceKey: "a", tab: "settings" } as const;
		const page = await mount(t, DeviceView, view, { devices: [withSettings], ...options });
		await page.report("a");
		return page;
	}

	for (const { fields = {}, removals = [], sent } of [
		{ fields: { "Wi-Fi name": "shop" }, sent: { ssid: "shop" } },
		{ fields: { "Wi-Fi password": "12345678" }, sent: { password: "12345678" } },
		{ removals: ["No second network"], sent: { ssid2: "" } },
		{ sent: undefined },
	])
		test(`send ${JSON.stringify(sent)}, but no blank field`, async (t) => {
			const page = await show(t);
			for (const [label, value] of Object.entries(fields)) await page.enter(label, value);
			for (const label of removals) await page.click("checkbox", label);
			await page.click("button", "Apply");
			assert.deepEqual(page.gateway.takeCommands(), sent ? [["a", "set_settings", sent]] : []);
			if (!sent) return;
			assert.equal(page.isOff("button", "Apply"), true, "during the trial");
			assert.equal(page.field("Wi-Fi password").value, "", "secrets are cleared");
		});

	test("show the reason at the field that the gateway rejects, and keep the text", async (t) => {
		const page = await show(t);
		page.gateway.rejection = "ssid is too long.";
		await page.enter("Wi-Fi name", "shop");
		await page.click("button", "Apply");
		const field = page.field("Wi-Fi name");
		assert.deepEqual([field.value, field.getAttribute("aria-invalid")], ["shop", "true"]);
		await page.enter("Wi-Fi name", "s");
		assert.deepEqual(page.problems, [], "until it is corrected");
	});

	test("are absent if the firmware does not support them", async (t) => {
		const page = await show(t, { devices: [speaker("a")] });
		assert.equal(page.has("button", "Apply"), false);
	});
});

describe("people", () => {
	const anna = { name: "anna", role: "user", since: null, usedAt: null };
	const link = { url: "https://gateway.test/login?key=1", expiresAt: "2026-01-02T12:00:00.000Z" };
	const replies = {
		"GET /api/tokens": { tokens: [{ ...anna, name: "monitor", role: "monitor" }, anna] },
		"POST /api/tokens": { ...anna, name: "Tom", token: "secret" },
		"POST /api/tokens/Tom/link": link,
		"POST /api/tokens/anna/link": link,
		"DELETE /api/tokens/anna": {},
	};
	const show = (t: TestContext, options: MountOptions = {}) =>
		mount(t, SettingsView, { part: "people" }, { replies, ...options });

	test("are invited by name and role, with a link", async (t) => {
		const page = await show(t);
		await page.click("button", "Invite person");
		const dialog = page.within("dialog");
		assert.equal(dialog.isOff("button", "Create link"), true, "without a name");
		await dialog.enter("Name", " Tom ");
		await dialog.click("radio", /^View only/);
		await dialog.click("button", "Create link");
		assert.deepEqual(page.gateway.changes, [
			["POST /api/tokens", { name: "Tom", role: "viewer" }],
			["POST /api/tokens/Tom/link", undefined],
		]);
		const shown = page.find("dialog", /Tom/).textContent ?? "";
		for (const text of [link.url, "secret"]) assert.ok(shown.includes(text), `${text} in ${shown}`);
	});

	test("lose their access only after confirmation; the token without a name has no controls", async (t) => {
		const page = await show(t);
		for (const [answer, count] of [
			["Cancel", 0],
			["Revoke", 1],
		] as const) {
			await page.click("button", "Revoke anna");
			await page.within("dialog").click("button", answer);
			assert.equal(page.gateway.changes.length, count, answer);
		}
		assert.equal(page.has("button", "Revoke monitor"), false);
	});
});

describe("parts of the settings", () => {
	for (const { role, audit, parts } of [
		{ role: "monitor", audit: true, parts: ["People", "Devices", "Wi-Fi", "Audit log"] },
		{ role: "viewer", audit: true, parts: ["People", "Devices", "Wi-Fi", "Audit log"] },
		{ role: "monitor", audit: false, parts: ["People", "Devices", "Wi-Fi"] },
		{ role: "user", audit: true, parts: [] },
	] as const)
		test(`are ${parts} for the role ${role} ${audit ? "with" : "without"} an audit log`, async (t) => {
			const replies = audit ? { "HEAD /api/audit": {} } : {};
			const page = await mount(t, SettingsView, { part: "people" }, { role, replies });
			assert.deepEqual(page.has("navigation") ? page.within("navigation").texts("link") : [], parts);
		});
});

describe("audit log", () => {
	const change = { who: "anna", at: "2026-01-01T11:00:00.000Z", address: "10.0.0.2", deviceId: null };
	const token = (index: number) => ({
		...change,
		what: "POST /api/device-tokens",
		after: { deviceId: `d${index}` },
	});
	const label = {
		...{ ...change, what: "PATCH /api/devices/:deviceId", deviceId: "a" },
		...{ before: { name: "Hall" }, after: { name: "Lobby" } },
	};
	const changes = [label, ...Array.from({ length: 55 }, (_, index) => token(index))];

	test("says who changed what, is searched, and lists more on demand", async (t) => {
		const replies = { "GET /api/audit": { changes }, "HEAD /api/audit": {} };
		const devices = [speaker("a", { name: "Lobby", room: "Shop" })];
		const page = await mount(t, SettingsView, { part: "changes" }, { replies, devices });
		const rows = () => page.within("list", "Audit log").texts("listitem");
		assert.equal(rows().length, 50);
		assert.match(rows()[0] ?? "", /^anna renamed Hall to Lobby · Lobby · Shop/);
		await page.click("button", /^Show 6 more/);
		assert.equal(rows().length, 56);
		await page.enter("Search", "anna LOBBY");
		assert.equal(rows().length, 1);
		await page.enter("Search", "device-tokens d54");
		assert.equal(rows().length, 1);
	});
});
