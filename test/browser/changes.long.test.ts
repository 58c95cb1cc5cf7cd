import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAudit } from "../../gateway/audit/extension.js";
import { extensions } from "../../gateway/extensions.js";
import { skip } from "../support/chromium.js";
import { bearer, monitorToken, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations, widerThan } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const phone = { width: 390, height: 844 };
const view = "#/settings/changes";

describe("audit log", { skip }, () => {
	test("lists who changed what and when, newest first, filters by text, person and device, and loads more on demand", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		const call = async (token: string, method: string, path: string, body: object) => {
			const response = await fetch(`${url}${path}`, {
				method,
				headers: bearer(token),
				body: JSON.stringify(body),
			});
			assert.ok(response.ok, `${path}: ${response.status}`);
			return JSON.parse(await response.text());
		};
		for (let serial = 0; serial < 55; serial += 1)
			await call(monitorToken, "POST", "/api/device-tokens", { deviceId: `dev-1-${serial}` });
		const { token } = await call(monitorToken, "POST", "/api/tokens", { name: "anna", role: "monitor" });
		await call(token, "PATCH", "/api/devices/dev-1-a1b2c3", { name: "Lobby speaker" });

		const page = await open(t, url, { view, viewport: phone });
		await page.getByRole("status").getByText("57 changes").waitFor();
		const rows = page.getByRole("list", { name: "Audit log" }).getByRole("listitem");
		assert.equal(await rows.count(), 50);
		const newest = rows.first();
		await newest.getByText("anna set the name to “Lobby speaker” · Lobby speaker", { exact: true }).waitFor();
		await newest.getByText(/^\d\d:\d\d$/).waitFor();
		await rows
			.nth(1)
			.getByText(/^Admin invited a person: anna \(Admin\)/)
			.waitFor();
		assert.doesNotMatch((await rows.allInnerTexts()).join(), /[{}]|[A-Z]{3,} \//);
		const changedAt = (await newest.locator("time").getAttribute("datetime")) ?? "";
		assert.ok(Math.abs(Date.now() - Date.parse(changedAt)) < 60_000, `changed at ${changedAt}`);
		assert.deepEqual(await violations(page), []);
		assert.deepEqual(await widerThan(page, phone.width), []);
		await page.getByRole("button", { name: "Show 7 more" }).press("Enter");
		await rows.nth(56).waitFor();
		assert.equal(await page.getByRole("button", { name: /^Show/ }).count(), 0);

		const count = (text: string) => page.getByRole("status").getByText(text, { exact: true }).waitFor();
		const search = page.getByRole("searchbox", { name: "Search" });
		await search.fill("anna lobby");
		await count("1 change");
		await search.fill("DEVICE-TOKENS dev-1-54");
		await count("1 change");
		await search.fill("created a device token dev-1-54");
		await count("1 change");
		await search.fill("lobby");
		await newest.getByRole("link", { name: "Lobby speaker" }).click();
		await page.getByRole("heading", { name: "Lobby speaker" }).waitFor();
	});

	test("is hidden if the gateway keeps no audit log", async (t) => {
		const { url } = await runGateway(t, { extensions: extensions.filter((each) => each !== createAudit) });
		const page = await open(t, url, { view: "#/settings/devices" });
		await page.getByRole("heading", { name: "Settings of all devices" }).waitFor();
		const tabs = page.getByRole("navigation", { name: "Parts of the settings" }).getByRole("link");
		assert.deepEqual(await tabs.allInnerTexts(), ["People", "Devices", "Wi-Fi"]);
		await page.goto(`${url}/${view}`);
		await tabs.and(page.locator("[aria-current]")).filter({ hasText: "People" }).waitFor();
		const withAudit = await runGateway(t);
		const other = await open(t, withAudit.url, { view: "#/settings/devices" });
		await other.getByRole("link", { name: "Audit log" }).waitFor();
	});
});
