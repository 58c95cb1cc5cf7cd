import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, test } from "node:test";
import { makeTokens, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import { skip } from "../support/chromium.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const token = "a-token-of-the-lobby-screen";

describe("a viewer", { skip }, () => {
	test("sees everything, and what changes something is off, with the reason; a monitor has it on", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const named = [{ name: "lobby-screen", role: "viewer", token }] as const;
		await writeTokenFile(fs, tokenPath(dataDir), { ...makeTokens(), named });
		const { url } = await runGateway(t, { dataDir });
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		const view = "#/devices/dev-1-a1b2c3";
		const page = await open(t, url, {
			view,
			prepare: async (context) => {
				await context.clearCookies();
				await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
			},
		});
		const reason = page.getByRole("complementary", { name: "Login" });
		await reason.getByText("lobby-screen sees everything and changes nothing.").waitFor();
		const volume = page.getByRole("slider", { name: "Volume" });
		assert.ok(await volume.isDisabled());
		assert.ok(await page.getByRole("button", { name: "Identify" }).isDisabled());
		await page.getByRole("link", { name: "History" }).click();
		await page.getByRole("link", { name: "Overview" }).click();
		assert.ok(await page.getByRole("radio", { name: "Updating" }).isDisabled());
		assert.deepEqual(await violations(page), []);
		const own = await open(t, url, { view });
		await own.getByRole("slider", { name: "Volume" }).and(own.locator(":enabled")).waitFor();
		assert.ok(await own.getByRole("button", { name: "Identify" }).isEnabled());
		assert.equal(await own.getByRole("complementary", { name: "Login" }).count(), 0);
	});
});
