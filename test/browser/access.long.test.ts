/** An administrator signs in, and invites a person, who cannot change anything. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { encode } from "uqr";
import { WebSocket } from "ws";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { bearer, deviceToken, monitorToken, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, disclose, type OpenOptions, sees } from "./browsing.js";

const open = browsing();
const deviceId = "dev-1-a1b2c3";
const view = `#/devices/${deviceId}`;
const phone = { width: 390, height: 844 };
const notLoggedIn: OpenOptions = { token: "", expected: /4(01|03|22)/ };

async function enterToken(page: Page, token: string): Promise<void> {
	await page.getByLabel("Access token").fill(token);
	await page.getByRole("button", { name: "Log in" }).click();
}

/** Link shown by the page, which has no role. */
async function shownLink(page: Page): Promise<string> {
	return (
		await page
			.getByText(/^http\S+\/login\?code=/)
			.first()
			.innerText()
	).trim();
}

test("people and their access", { skip }, async (t) => {
	const { url } = await runGateway(t);
	const device = new ScriptedDevice({ url, deviceId });
	t.after(() => device.close());
	const admin = await open(t, url, { ...notLoggedIn, viewport: phone });
	const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
	let invitation = "";
	let viewer: Page;

	/** Opens a login link in another browser. */
	const follow = async (t: TestContext, link: string) => {
		const page = await open(t, url, { ...notLoggedIn, view: link.slice(`${url}/`.length) });
		await page.getByRole("button", { name: "Log in" }).click();
		return page;
	};

	await t.test("an empty fleet tells how to add a device, and who was rejected", async () => {
		await enterToken(admin, monitorToken);
		await sees(admin, "DEVICE_TOKEN=<device token> npm run device -- --model proto-1 --gateway");
		await checkView(admin);
		assert.equal((await admin.content()).includes(deviceToken), false);
		await assert.rejects(new ScriptedDevice({ url, deviceId, token: "not-the-token-of-devices" }).connect());
		await admin.reload();
		await admin.getByRole("list", { name: "Rejected devices" }).getByText(deviceId).waitFor();
	});

	await t.test("a device appears once it connects, also before its first report", async (t) => {
		const headers = { ...bearer(deviceToken), "Device-Id": "dev-1-silent" };
		const silent = new WebSocket(`${url.replace("http", "ws")}/device`, { headers });
		t.after(() => silent.terminate());
		await admin.getByText(/no report yet/i).waitFor();
		await checkView(admin);
		await device.connect();
		await admin.getByRole("link", { name: deviceId, exact: true }).waitFor();
	});

	await t.test("a wrong token is rejected; the right one leads to the linked device", async () => {
		await admin.context().clearCookies();
		await admin.goto(`${url}/${view}`);
		await admin.reload();
		await enterToken(admin, "wrong-token-wrong-token");
		await admin.getByText("Invalid access token.").waitFor();
		await checkView(admin);
		await enterToken(admin, monitorToken);
		await heading(admin, deviceId);
		assert.equal(admin.url(), `${url}/${view}`);
	});

	await t.test("the administrator invites a viewer by link and QR code", async () => {
		await admin.goto(`${url}/#/settings`);
		await sees(admin.getByRole("list", { name: "People" }), /^Admin · Active/);
		await checkView(admin);
		await admin.getByRole("button", { name: "Invite person" }).press("Enter");
		const sheet = admin.getByRole("dialog");
		await sheet.getByLabel("Name").and(admin.locator(":focus")).fill("Tom Groß");
		await sheet.getByRole("radio", { name: "View only" }).check();
		await checkView(admin);
		await sheet.getByRole("button", { name: "Create link" }).press("Enter");
		await admin.getByRole("heading", { name: "Link for Tom Groß" }).waitFor();
		invitation = await shownLink(admin);
		const code = admin.getByRole("img", { name: "QR code of the link" });
		const path = await code.locator("path").getAttribute("d");
		const dark = encode(invitation, { border: 4 }).data.flat().filter(Boolean).length;
		assert.equal(path?.split("M").length, dark + 1);
		await checkView(admin);
	});

	viewer = await follow(t, invitation);
	await t.test("the viewer sees every view and can change nothing", async () => {
		await viewer.getByRole("navigation", { name: "Views" }).waitFor();
		await viewer.goto(`${url}/#/settings`);
		await viewer
			.getByText("Signs you in on another device as Tom Groß. The link works once within ten minutes.")
			.waitFor();
		assert.equal(await viewer.getByRole("button", { name: "Invite person" }).count(), 0);
		await viewer.goto(`${url}/${view}`);
		await viewer.getByTitle("Not allowed for the role View only").first().waitFor();
		await checkView(viewer);
		for (const place of [`devices/${deviceId}/settings`, "settings/devices", "announce"]) {
			await viewer.goto(`${url}/#/${place}`);
			await sees(viewer, "Not allowed for the role View only.");
			await checkView(viewer);
		}
		await viewer.goto(`${url}/#/firmware`);
		assert.equal(await viewer.getByRole("button", { name: "New rollout" }).isDisabled(), true);
		assert.deepEqual(device.commands, []);
	});

	await t.test("the link is renewed, and the viewer's access revoked at once", async (t) => {
		await sees(await follow(t, invitation), "This link has expired.");
		await admin.getByRole("button", { name: "New link", exact: true }).press("Enter");
		const readLink = () => shownLink(admin);
		const renewed = await eventually(readLink, (link) => link !== invitation);
		await (await follow(t, renewed)).getByRole("navigation", { name: "Views" }).waitFor();
		await admin.getByRole("dialog").getByRole("button", { name: "Done" }).press("Enter");
		await admin.getByRole("button", { name: "Revoke Tom Groß" }).press("Enter");
		await admin.getByRole("dialog").getByRole("button", { name: "Revoke" }).press("Enter");
		await viewer.getByLabel("Access token").waitFor();
	});

	await t.test("logging out ends the login in all tabs of the browser", async () => {
		const other = await admin.context().newPage();
		await other.goto(url);
		await other.getByText("Live").waitFor();
		await disclose(admin.getByRole("navigation", { name: "Views" }), "More");
		await admin.getByRole("button", { name: "Log out" }).click();
		for (const page of [admin, other]) await page.getByLabel("Access token").waitFor();
	});
});
