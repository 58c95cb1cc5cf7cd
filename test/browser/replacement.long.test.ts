/** Replacement of a broken speaker: a new board takes its place, then the old one returns. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const [old, next] = ["dev-1-00000a", "dev-1-00000b"];

test("replaces a broken speaker on its page: the new one gets name and room, the old one is rejected with the reason", {
	skip,
}, async (t) => {
	const { url } = await runGateway(t);
	const broken = await new ScriptedDevice({
		url,
		deviceId: old,
		report: { "peripherals.audio.volume": 35 },
	}).connect();
	const board = await ScriptedDevice.join(t, { url, deviceId: next });
	const page = await open(t, url, { view: `#/devices/${old}` });
	const heading = (name: string) => page.getByRole("heading", { level: 1, name });
	const replace = page.getByRole("button", { name: "Replace…" });
	await heading(old).waitFor();
	assert.equal(await replace.count(), 0, "of a connected device");
	await call(url, "PATCH", `devices/${old}`, { name: "Lobby speaker", room: "Lobby" });
	broken.close();
	await replace.click();
	const dialog = page.getByRole("dialog", { name: "Replace Lobby speaker" });
	const field = dialog.getByLabel("New device");
	const yes = dialog.getByRole("button", { name: "Replace", exact: true });
	assert.equal(await field.inputValue(), next, "the only new one");
	await field.fill("dev-1-ffffff");
	await dialog.getByText("Device not found.").waitFor();
	assert.equal(await yes.isDisabled(), true);
	await field.fill(next);
	await dialog.getByText("DEV-1, connected.").waitFor();
	await dialog.getByText(`${old} is rejected from now on`).waitFor();
	await checkView(page);
	await yes.click();
	await page.waitForURL(`**/#/devices/${next}`);
	await heading("Lobby speaker").waitFor();
	await page
		.getByRole("region", { name: "Overview" })
		.getByRole("link", { name: "Lobby", exact: true })
		.waitFor();
	board.report();
	await board.receives({ command: "set_volume", value: 35 });

	await assert.rejects(broken.connect(), /410/);
	await page
		.getByRole("link", { name: /^Issues/ })
		.first()
		.click();
	await page.getByText(`${old} was replaced by ${next}`).waitFor();
	assert.equal(await page.getByRole("main").getByRole("link", { name: "Add device" }).count(), 0);
	await page.getByRole("link", { name: "Show new device" }).click();
	await page.waitForURL(`**/#/devices/${next}`);
	await page.goto(`${url}/#/devices/${next}/diagnostics`);
	const before = page.getByRole("region", { name: `Replaced board: ${old}` });
	await before.getByText("First start of 1.2.3").waitFor();
	await checkView(page);
	await before.getByRole("button", { name: "Allow again" }).click();
	await page.getByRole("button", { name: "Allow", exact: true }).click();
	await before.waitFor({ state: "detached" });
	await broken.connect();
	t.after(() => broken.close());
	await page.goto(`${url}/#/devices/${old}`);
	await heading(old).waitFor();
});
