/** A person controls speakers in XS from their pages: sound, light, buttons, label, restarts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateReport } from "../../device/protocol/messages.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { within } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { checkView } from "./axe.js";
import { browsing, disclose, problems } from "./browsing.js";

const open = browsing();

test("a device in XS", { skip }, async (t) => {
	const { url, powerOn, monitorClient } = await runFleet(t);
	const proto = await powerOn("PROTO-1");
	const { deviceId, device } = proto;
	const { board } = device;
	/** Waits until the device itself reports it. */
	const report = (predicate: (state: StateReport) => boolean) =>
		within(proto.report(predicate), () => String(predicate), 30_000);
	const page = await open(t, url, { view: `#/devices/${deviceId}`, expected: /422/ });
	const overview = page.getByRole("region", { name: "Overview" });
	const light = page.getByRole("region", { name: "Light" });
	const sending = page.getByText(/^(sending|restarting)$/);
	/** Waits until every command is confirmed, and none was rejected. */
	const settle = async () => {
		await sending.first().waitFor({ state: "detached" });
		assert.equal(await problems(page).count(), 0);
	};

	await t.test("sets volume, light and motor, as the device's own report confirms", async () => {
		await light.waitFor();
		await checkView(page);
		await overview.getByRole("slider", { name: "Volume" }).fill("37");
		await report(({ peripherals }) => peripherals.audio.volume === 37);
		await light.getByRole("slider", { name: "Haptics" }).fill("60");
		await report(({ peripherals }) => peripherals.haptic_intensity === 60);
		await light.getByRole("group", { name: "LED ring" }).getByRole("button", { name: "Off" }).click();
		await report(({ peripherals }) => peripherals.led_ring.state_name === "idle");
		await light.getByLabel("Custom color").fill("#ff8811");
		await report(({ peripherals }) => peripherals.led_ring.light?.color === "#ff8811");
		await light.getByLabel("Adapt to room light").check();
		await report(({ peripherals }) => peripherals.led_ring.auto_brightness === true);
		await settle();
	});

	await t.test("shows what is done at the board itself", async () => {
		await page.getByRole("link", { name: "Diagnostics" }).click();
		const inputs = page.getByRole("region", { name: "Buttons and sensors" });
		for (const isPressed of [true, false]) {
			board.setButton("play", isPressed);
			await inputs.getByText(isPressed ? "Play pressed" : "Play not pressed", { exact: true }).waitFor();
		}
		board.isTouched = true;
		await inputs.getByText("Touch touched").waitFor();
		board.light = 3210;
		await inputs.getByText("3210").waitFor();
		await checkView(page);
	});

	await t.test("is given a name, a room, a note and tags, which a second page shows", async () => {
		await page.getByRole("button", { name: "Edit name" }).click();
		const dialog = page.getByRole("dialog");
		const fill = (label: string, text: string) => dialog.getByLabel(label, { exact: true }).fill(text);
		await fill("Name", "W".repeat(64));
		await fill("Room", "Lobby");
		await fill("Note", "W".repeat(200));
		await fill("Tags", "büro");
		await dialog.getByRole("button", { name: "Save" }).click();
		await dialog.getByRole("alert").getByText("büro").waitFor();
		await checkView(page);
		await fill("Tags", "Shop-Berlin, beta");
		await dialog.getByRole("button", { name: "Save" }).click();
		await page.getByRole("list", { name: "Tags" }).getByRole("link", { name: "shop-berlin" }).waitFor();
		await checkView(page);
		const other = await open(t, url, { view: `#/devices/${deviceId}` });
		await other.getByRole("heading", { level: 1, name: "WWW" }).waitFor();
		await call(url, "PATCH", `devices/${deviceId}`, { name: "Lobby speaker", note: "" });
		for (const shown of [page, other])
			await shown.waitForFunction("document.title.startsWith('Lobby speaker')");
	});

	await t.test("restarts; the page shows it until the device is back", async () => {
		await disclose(overview, "More");
		await overview.getByRole("button", { name: "Restart", exact: true }).click();
		await sending.first().waitFor();
		await monitorClient.change("connected");
		await settle();
		assert.equal(device.started.resetReason, "SW_RESET");
		await page.getByText("Restarted by firmware").waitFor();
	});

	await t.test("dates the last values once it is switched off, and disables controls", async () => {
		await device.close();
		await overview.getByText(/^Offline since/).waitFor();
		await page.getByRole("img", { name: "LED ring: unknown" }).waitFor();
		await page.getByRole("link", { name: "Overview" }).click();
		await light.waitFor();
		for (const slider of await page.getByRole("slider").all()) assert.equal(await slider.isDisabled(), true);
		await checkView(page);
	});
});
