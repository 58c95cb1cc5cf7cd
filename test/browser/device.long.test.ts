/** A person controls speakers in XS from their pages: sound, light, buttons, label, restarts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import type { StateReport } from "../../device/protocol/messages.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { eventually, within } from "../support/eventually.js";
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
	const page = await open(t, url, { view: `#/device/${deviceId}`, expected: /422/ });
	const overview = page.getByRole("region", { name: "Overview" });
	const light = page.getByRole("region", { name: "Light" });
	const sending = page.getByText(/^(sending|restarting)$/);
	/** Waits until every command is confirmed, and none was rejected. */
	const settle = async () => {
		await sending.first().waitFor({ state: "detached" });
		assert.equal(await problems(page).count(), 0);
	};
	const more = async (name: string) => {
		await disclose(overview, "More");
		await overview.getByRole("button", { name, exact: true }).click();
	};

	await t.test("sets volume, brightness and motor, as the device's own report confirms", async () => {
		await light.waitFor();
		await checkView(page);
		await overview.getByRole("slider", { name: "Volume" }).fill("37");
		await report(({ peripherals }) => peripherals.audio.volume === 37);
		await light.getByRole("slider", { name: "Brightness" }).fill("80");
		await report(({ peripherals }) => peripherals.led_ring.brightness_coef === 0.8);
		await light.getByRole("slider", { name: "Haptics" }).fill("60");
		await report(({ peripherals }) => peripherals.haptic_intensity === 60);
		await settle();
	});

	await t.test("shows each preset of the ring, and uses it as a light", async () => {
		const presets = light.getByRole("group", { name: "LED ring" });
		for (const [name, state] of [
			["Off", "idle"],
			["Connecting", "connecting"],
			["Rainbow", "rainbow"],
		] as const) {
			await presets.getByRole("button", { name }).click();
			await report(({ peripherals }) => peripherals.led_ring.state_name === state);
			await presets.getByRole("button", { name, pressed: true }).waitFor();
		}
		await light.getByLabel("Custom color").fill("#ff8811");
		await report(({ peripherals }) => peripherals.led_ring.light?.color === "#ff8811");
		await light.getByRole("button", { name: "Blink" }).click();
		await report(({ peripherals }) => peripherals.led_ring.light?.effect === "blink");
		await light.getByRole("button", { name: "Clear" }).click();
		await report(({ peripherals }) => peripherals.led_ring.light === undefined);
		await light.getByLabel("Adapt to room light").check();
		await report(({ peripherals }) => peripherals.led_ring.auto_brightness === true);
		await settle();
	});

	await t.test("plays a chime", async () => {
		const played = new Promise<void>((resolve) => {
			const ignore = board.listen({
				onSound: (sound) => {
					if (sound) return;
					ignore();
					resolve();
				},
			});
		});
		await more("Play “Start-up”");
		await played;
		await settle();
	});

	await t.test("shows what is done at the board itself", async () => {
		await page.getByRole("link", { name: "Diagnostics" }).click();
		const inputs = page.getByRole("region", { name: "Buttons and sensors" });
		for (const [name, text] of [
			["play", "Play"],
			["mute", "Mute"],
			["volumeUp", "Volume +"],
			["volumeDown", "Volume −"],
		] as const)
			for (const isPressed of [true, false]) {
				board.setButton(name, isPressed);
				await inputs.getByText(`${text} ${isPressed ? "pressed" : "not pressed"}`, { exact: true }).waitFor();
			}
		board.isTouched = true;
		await inputs.getByText("Touch touched").waitFor();
		board.light = 3210;
		await inputs.getByText("3210").waitFor();
		await checkView(page);
	});

	await t.test("is given a name, a room, a note and tags, which a second page shows", async () => {
		const edit = async (fields: Readonly<Record<string, string>>): Promise<Locator> => {
			await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
			const dialog = page.getByRole("dialog");
			for (const [label, text] of Object.entries(fields))
				await dialog
					.getByRole(label === "Room" ? "combobox" : "textbox", { name: label, exact: true })
					.fill(text);
			return dialog;
		};
		const note = "W".repeat(200);
		const dialog = await edit({ Name: "W".repeat(64), Room: "Lobby", Note: note, Tags: "büro" });
		await dialog.getByRole("button", { name: "Save" }).click();
		await dialog.getByRole("alert").getByText("büro").waitFor();
		await checkView(page);
		await dialog.getByRole("textbox", { name: "Tags" }).fill("Shop-Berlin, beta");
		await dialog.getByRole("button", { name: "Save" }).click();
		await eventually(
			() => call<object>(url, "GET", `devices/${deviceId}`),
			(stored) => /"room":"Lobby".*"tags":\["beta","shop-berlin"\]/.test(JSON.stringify(stored)),
		);
		await page.getByRole("list", { name: "Tags" }).getByRole("link", { name: "shop-berlin" }).waitFor();
		await checkView(page);
		const other = await open(t, url, { view: `#/devices/${deviceId}` });
		await other.getByRole("heading", { level: 1, name: "WWW" }).waitFor();
		await (await edit({ Name: "Lobby speaker", Note: "", Tags: "" }))
			.getByRole("button", { name: "Save" })
			.click();
		await other.getByRole("heading", { level: 1, name: "Lobby speaker" }).waitFor();
		await page.waitForFunction("document.title.startsWith('Lobby speaker')");
	});

	await t.test("reconnects and restarts; the page shows it until the device is back", async () => {
		await more("Reconnect");
		const boot = await monitorClient.change("boot");
		const back = await monitorClient.change("connected");
		assert.notEqual(boot.sessionId, back.sessionId);
		await settle();
		await more("Restart");
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

	await t.test("a DEV-1 has neither motor nor sensors", async () => {
		const other = await powerOn("DEV-1", { serial: "00beef" });
		await page.goto(`${url}/#/devices/${other.deviceId}`);
		await light.waitFor();
		for (const name of ["Haptics", "Adapt to room light"])
			assert.equal(await page.getByLabel(name).count(), 0, name);
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page.getByRole("region", { name: "Buttons and sensors" }).waitFor();
		assert.equal(await page.getByText(/^Touch/).count(), 0);
	});
});
