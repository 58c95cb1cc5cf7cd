import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { generateTokens, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import type { PersonRole } from "../../gateway/api/person.js";
import { skip } from "../support/chromium.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const token = "a-token-of-the-lobby-screen";
const view = "#/devices/dev-1-a1b2c3";

/** Starts a gateway with a device, and opens its page with this role. */
async function openAs(t: TestContext, role: PersonRole) {
	const dataDir = await temporaryDirectory(t);
	const named = [{ name: "lobby-screen", role, token }] as const;
	await writeTokenFile(fs, tokenPath(dataDir), { ...generateTokens(), named });
	const { url } = await runGateway(t, { dataDir });
	const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
	t.after(() => device.close());
	const page = await open(t, url, {
		view,
		prepare: async (context) => {
			await context.clearCookies();
			await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
		},
	});
	return { url, page };
}

describe("a viewer", { skip }, () => {
	test("sees all views without a banner, with controls disabled and the reason; an admin has them enabled", async (t) => {
		const { url, page } = await openAs(t, "viewer");
		const volume = page.getByRole("slider", { name: "Volume" });
		await volume.and(page.locator(":disabled")).waitFor();
		await page.getByTitle("Not allowed for the role View only").filter({ has: volume }).waitFor();
		const flash = page.getByRole("button", { name: "Flash light" });
		assert.ok(await flash.isDisabled(), "Flash light is enabled");
		assert.equal(await flash.getAttribute("title"), "Not allowed for the role View only");
		assert.equal(await page.getByText("lobby-screen").count(), 0, "a banner");
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page.getByRole("link", { name: "Overview" }).click();
		assert.ok(await page.getByRole("button", { name: "Updating" }).isDisabled(), "Updating is enabled");
		assert.deepEqual(await violations(page), []);
		const own = await open(t, url, { view });
		await own.getByRole("slider", { name: "Volume" }).and(own.locator(":enabled")).waitFor();
		assert.ok(await own.getByRole("button", { name: "Flash light" }).isEnabled(), "Flash light is disabled");
	});
});

test("lets a user set volume and ring, and disables or hides device management", { skip }, async (t) => {
	const { page } = await openAs(t, "user");
	const volume = page.getByRole("slider", { name: "Volume" });
	await volume.and(page.locator(":enabled")).fill("80");
	await page.getByText("80", { exact: true }).first().waitFor();
	await page.getByRole("button", { name: "Flash light" }).click();
	await page.locator(".hero summary").click();
	assert.ok(await page.getByRole("button", { name: "Restart" }).isDisabled(), "Restart is enabled");
	assert.ok(await page.getByRole("button", { name: "Refresh" }).isEnabled(), "Refresh is disabled");
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: "Updating" }).and(page.locator(":enabled")).waitFor();
	assert.equal(await page.getByRole("link", { name: "Firmware" }).count(), 1, "the device's own part alone");
	assert.equal(await page.getByRole("link", { name: "Add device" }).count(), 0);
	await page.getByRole("link", { name: "Settings" }).last().click();
	await page.locator(".settings fieldset, .settings button").and(page.locator(":disabled")).first().waitFor();
	assert.deepEqual(await violations(page), []);
	await page.getByRole("navigation").getByRole("link", { name: "Home" }).click();
	await page.getByRole("button", { name: /^Select all/ }).click();
	await page.locator(".selection summary", { hasText: "Volume" }).click();
	await page.getByRole("button", { name: "Set volume" }).and(page.locator(":enabled")).waitFor();
	await page.locator(".selection summary", { hasText: "More" }).click();
	assert.ok(await page.getByRole("button", { name: "Restart" }).isDisabled(), "Restart is enabled");
	assert.ok(await page.getByRole("button", { name: "Set room" }).isDisabled(), "Set room is enabled");
});
