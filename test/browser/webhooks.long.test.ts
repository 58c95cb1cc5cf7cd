import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, test } from "node:test";
import { generateTokens, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import { Receiver, withHooks } from "../gateway/webhooks/receiver.js";
import { skip } from "../support/chromium.js";
import { freePort } from "../support/ports.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const token = "a-token-of-the-lobby-screen";

describe("webhooks under Settings", { skip }, () => {
	test("lists webhooks without secrets, shows the response of a test, and is visible to a viewer", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const named = [{ name: "lobby-screen", role: "viewer", token }] as const;
		await writeTokenFile(fs, tokenPath(dataDir), { ...generateTokens(), named });
		const [takes, refuses] = [await new Receiver().listen(t), await new Receiver().listen(t)];
		refuses.manner = 500;
		const { events } = takes.hook();
		const hooks = [
			takes.hook({ id: "0123456789abcdef", events: ["away", "rolled_back"], after: 7 }),
			refuses.hook({ id: "fedcba9876543210", events }),
			takes.hook({
				id: "0011223344556677",
				url: `http://127.0.0.1:${await freePort()}/hook`,
				events: ["disk_full"],
			}),
		];
		const { url } = await runGateway(t, { dataDir, ...withHooks(hooks) });
		const page = await open(t, url, { view: "#/settings/devices" });
		const panel = page.getByRole("region", { name: "Webhooks" });
		await panel.getByText("away for 7 min, rolled back").waitFor();
		await panel.getByText(new URL(takes.url).origin).waitFor();
		assert.doesNotMatch(await page.content(), /secret-path|secret-of-the-receiver/);

		await panel.getByRole("button", { name: "Test webhook 1" }).click();
		await panel.getByRole("status").getByText("Test delivered (204).").waitFor();
		assert.deepEqual(
			takes.received.map(({ event }) => event),
			["test"],
		);
		await panel.getByRole("button", { name: "Test webhook 2" }).click();
		await panel.getByRole("alert").getByText("Test rejected (500).").waitFor();
		await panel.getByRole("button", { name: "Test webhook 3" }).click();
		await panel
			.getByRole("alert")
			.getByText(/^Test failed: /)
			.waitFor();
		assert.deepEqual(await violations(page), []);

		const viewers = await open(t, url, {
			view: "#/settings/devices",
			prepare: async (context) => {
				await context.clearCookies();
				await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
			},
		});
		const button = viewers.getByRole("button", { name: "Test webhook 1" });
		await button.and(viewers.locator(":disabled")).waitFor();
	});

	test("reports an ended webhook as an issue until it is dismissed", async (t) => {
		const receiver = await new Receiver().listen(t);
		receiver.manner = 410;
		const { url } = await runGateway(t, withHooks([receiver.hook()]));
		const page = await open(t, url, { view: "#/settings/devices" });
		const panel = page.getByRole("region", { name: "Webhooks" });
		await panel.getByRole("button", { name: "Test webhook 1" }).click();
		await panel.getByRole("alert").getByText("Test rejected (410).").waitFor();
		await page.getByRole("link", { name: "Issues 1" }).click();
		await page.getByRole("button", { name: "Webhook disabled" }).click();
		const ended = page.getByRole("dialog", { name: "Webhook disabled" });
		await ended.getByText(/^Its receiver responded with 410, so delivery stopped/).waitFor();
		const { origin } = new URL(receiver.url);
		await ended.getByText(origin, { exact: true }).waitFor();
		assert.deepEqual(await violations(page), []);
		await ended.getByRole("button", { name: `Dismiss: Webhook disabled, ${origin}` }).click();
		await ended.waitFor({ state: "detached" });
		await page.goto(`${url}/#/settings/devices`);
		await panel.getByText(/disabled by response 410/).waitFor();
	});

	test("hides webhooks if the gateway has none", async (t) => {
		const { url } = await runGateway(t);
		const page = await open(t, url);
		const answered = page.waitForResponse((response) => response.url().endsWith("/api/webhooks"));
		await page.goto(`${url}/#/settings/devices`);
		assert.equal((await answered).status(), 200);
		await page.getByRole("heading", { name: "Settings of all devices" }).waitFor();
		assert.equal(await page.getByText("Webhooks").count(), 0);
	});
});
