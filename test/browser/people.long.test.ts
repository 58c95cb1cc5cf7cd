import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { encode } from "uqr";
import { generateTokens, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import type { PersonRole } from "../../gateway/api/person.js";
import { skip } from "../support/chromium.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { violations, widerThan } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const phone = { width: 390, height: 844 };

/** Opens the People settings with this role. */
async function openAs(t: TestContext, role: PersonRole, view = "#/settings/people") {
	const dataDir = await temporaryDirectory(t);
	const token = "a-token-of-the-fixtures-for-ben";
	await writeTokenFile(fs, tokenPath(dataDir), {
		...generateTokens(),
		named: [{ name: "ben", role, token }],
	});
	const { url } = await runGateway(t, { dataDir });
	const page = await open(t, url, {
		view,
		viewport: phone,
		expected: /422/,
		prepare: async (context) => {
			await context.clearCookies();
			await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
		},
	});
	return { dataDir, url, page };
}

describe("logging in another device", { skip }, () => {
	test("works once by link and QR code, as the same person", async (t) => {
		const { url, page } = await openAs(t, "user", "");
		await page.locator("nav summary", { hasText: "More" }).press("Enter");
		await page.getByRole("link", { name: "Settings" }).press("Enter");
		await page.getByText("Logs in as ben (user: may play").waitFor();
		assert.equal(await page.getByRole("link", { name: "Wi-Fi" }).count(), 0, "a user has this part alone");
		await page.getByRole("button", { name: "Create link" }).press("Enter");
		const link = (await page.locator(".command code").innerText()).trim();
		assert.ok(link.startsWith(`${url}/login?code=`), link);
		const code = page.getByRole("img", { name: "QR code of the link" });
		await code.waitFor();
		const dark = encode(link, { border: 4 }).data.flat().filter(Boolean).length;
		assert.equal((await code.locator("path").getAttribute("d"))?.split("M").length, dark + 1);
		await page.getByText("Other devices cannot reach 127.0.0.1").waitFor();
		assert.deepEqual(await violations(page), []);
		assert.deepEqual(await widerThan(page, phone.width), []);
		const other = await open(t, url, {
			view: link.slice(`${url}/`.length),
			expected: /401/,
			prepare: async (context) => context.clearCookies(),
		});
		await other.getByRole("button", { name: "Log in" }).click();
		await other.getByText("ben may play,").waitFor();
		await other.goto(link);
		await other.getByRole("button", { name: "Log in" }).click();
		await other.getByText("This link has expired. Ask for a new one.").waitFor();
	});
});

describe("the tokens of people", { skip }, () => {
	test("are listed, created with the secret shown once, and revoked by a monitor, in both themes and by keyboard", async (t) => {
		const { url, page } = await openAs(t, "monitor");
		const list = page.getByRole("list", { name: "Tokens" });
		await list
			.getByText(/^monitor · used|^monitor · no recent activity/)
			.first()
			.waitFor();
		const make = page.getByRole("button", { name: "Invite person" });
		await page.getByLabel("Name", { exact: true }).fill("Anna");
		await make.press("Enter");
		await page
			.getByRole("alert")
			.getByText(/lower-case letters/)
			.waitFor();
		await page.getByLabel("Name", { exact: true }).fill("anna");
		await page.getByLabel("Role").selectOption("viewer");
		await make.press("Enter");
		await page.getByText("Token of anna. It is shown only once:").waitFor();
		const token = (await page.locator(".command code").innerText()).trim();
		await list.getByText(/^viewer · created .* · no recent activity$/).waitFor();
		assert.deepEqual(await violations(page), []);
		assert.deepEqual(await widerThan(page, phone.width), []);
		const other = await open(t, url, {
			expected: /401/,
			prepare: async (context) => {
				await context.clearCookies();
				await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
			},
			view: "#/settings/people",
		});
		await other.getByText("anna may look, and change nothing.").waitFor();
		assert.equal(await other.getByRole("heading", { name: "Tokens" }).count(), 0);
		await page.reload();
		await list.getByText(/^viewer · created .* · used/).waitFor();
		assert.equal(await page.getByText(token).count(), 0);
		await page.getByRole("button", { name: "Revoke anna" }).press("Enter");
		await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).press("Enter");
		await list.getByText("anna", { exact: true }).waitFor({ state: "detached" });
		await other.getByRole("heading", { name: "Device gateway" }).waitFor();
	});
});

test("switches between parts of the settings, also by keyboard, and keeps the focus", { skip }, async (t) => {
	const { page } = await openAs(t, "viewer", "#/settings");
	await page.getByRole("heading", { name: "Settings of all devices" }).waitFor();
	const tabs = page.getByRole("navigation", { name: "Parts of the settings" });
	await tabs.getByRole("link", { name: "Wi-Fi" }).press("Enter");
	await page.getByText(/Wi-Fi networks$/).waitFor();
	await tabs
		.getByRole("link", { name: "Wi-Fi", exact: true, disabled: false })
		.and(page.locator(":focus"))
		.waitFor();
	assert.equal(await tabs.locator("[aria-current=page]").innerText(), "Wi-Fi");
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "Add phone or computer" }).waitFor();
	assert.equal(await page.title(), "Settings · Device gateway");
	assert.deepEqual(await widerThan(page, phone.width), []);
});
