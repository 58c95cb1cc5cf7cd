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
		await page.getByText("The link logs in as ben (Member).").waitFor();
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
		await other.getByRole("navigation", { name: "Views" }).waitFor();
		await other.goto(link);
		await other.getByRole("button", { name: "Log in" }).click();
		await other.getByText("This link has expired. Ask for a new one.").waitFor();
	});
});

describe("inviting a person", { skip }, () => {
	test("takes a name as typed and a role; the link logs in once, can be renewed, and is revoked", async (t) => {
		const { url, page } = await openAs(t, "monitor", "#/settings");
		const people = page.getByRole("list", { name: "People" });
		await people.getByText(/^Admin · Active/).waitFor();
		await page.getByRole("button", { name: "Invite person" }).press("Enter");
		const sheet = page.getByRole("dialog");
		const create = sheet.getByRole("button", { name: "Create link" });
		await sheet.getByLabel("Name").and(page.locator(":focus")).fill("a/b");
		await create.press("Enter");
		await sheet
			.getByRole("alert")
			.getByText(/without slashes/)
			.waitFor();
		await sheet.getByLabel("Name").fill("Tom Groß");
		await sheet.getByRole("radio", { name: "View only See everything" }).check();
		assert.deepEqual(await violations(page), []);
		await create.press("Enter");
		await page.getByRole("heading", { name: "Link for Tom Groß" }).waitFor();
		await page.getByRole("img", { name: "QR code of the link" }).waitFor();
		assert.deepEqual(await violations(page), []);
		assert.deepEqual(await widerThan(page, phone.width), []);
		const link = (await page.locator(".command code").first().innerText()).trim();
		const logIn = async (address: string) => {
			const invited = await open(t, url, {
				view: address.slice(`${url}/`.length),
				expected: /401/,
				prepare: (context) => context.clearCookies(),
			});
			await invited.getByRole("button", { name: "Log in" }).click();
			return invited;
		};
		const tom = await logIn(link);
		await tom.goto(`${url}/#/settings`);
		await tom.getByText("The link logs in as Tom Groß (View only).").waitFor();
		assert.equal(await tom.getByRole("complementary", { name: "Login" }).count(), 0, "a banner");
		assert.equal(await tom.getByRole("button", { name: "Invite person" }).count(), 0);
		const late = await logIn(link);
		await late.getByText("This link has expired. Ask for a new one.").waitFor();
		await sheet.getByRole("button", { name: "New link" }).press("Enter");
		await page.locator(".command code").first().filter({ hasNotText: link }).waitFor();
		const renewed = await logIn((await page.locator(".command code").first().innerText()).trim());
		await renewed.getByRole("navigation", { name: "Views" }).waitFor();
		await sheet.getByRole("button", { name: "Done" }).press("Enter");
		await page.reload();
		await people.getByText(/^View only · Active .* · Invited/).waitFor();
		await page.getByRole("button", { name: "Revoke Tom Groß" }).press("Enter");
		await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).press("Enter");
		await people.getByText("Tom Groß", { exact: true }).waitFor({ state: "detached" });
		await tom.getByRole("heading", { name: "Device gateway" }).waitFor();
	});
});

test("switches between parts of the settings, also by keyboard, and keeps the focus", { skip }, async (t) => {
	const { page } = await openAs(t, "viewer", "#/settings");
	await page.getByRole("heading", { name: "Add phone or computer" }).waitFor();
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
	await page.getByRole("searchbox", { name: "Search" }).waitFor();
	assert.equal(await page.title(), "Settings · Device gateway");
	assert.deepEqual(await widerThan(page, phone.width), []);
});
