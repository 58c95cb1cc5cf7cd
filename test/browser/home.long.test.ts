/** A person at home sets the volume of speakers, rooms and the whole home on a phone. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, problems } from "./browsing.js";

const open = browsing();
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const rooms = ["Attic", "Bath", "Cellar", "Den", "Entry", "Foyer", "Garage", "Hall"];

/** Moves a finger from a share of a control's width, in steps as a phone reports them. @param by CSS pixels */
async function swipe(
	page: Page,
	control: Locator,
	share: number,
	by: readonly [x: number, y: number],
): Promise<void> {
	const box = await control.boundingBox();
	assert.ok(box, "not visible");
	const [x, y] = [box.x + box.width * share, box.y + box.height / 2];
	const client = await page.context().newCDPSession(page);
	const touch = (type: "touchStart" | "touchMove" | "touchEnd", part: number) =>
		client.send("Input.dispatchTouchEvent", {
			type,
			touchPoints: type === "touchEnd" ? [] : [{ x: x + by[0] * part, y: y + by[1] * part }],
		});
	await touch("touchStart", 0);
	for (let step = 1; step <= 20; step++) await touch("touchMove", step / 20);
	await touch("touchEnd", 1);
}

test("a home", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const connect = async (
		serial: string,
		room: string,
		volume: number,
		model: "DEV-1" | "PROTO-1" = "DEV-1",
	) => {
		const report = { "peripherals.audio.volume": volume };
		const deviceId = `${model.toLowerCase()}-${serial}`;
		const device = await ScriptedDevice.join(t, { url, deviceId, model, report });
		await eventually(() => call(url, "PATCH", `devices/${deviceId}`, { room }));
		return device;
	};
	const [left, right] = [await connect("00000a", "Kitchen", 20), await connect("00000b", "Kitchen", 60)];
	const alone = await connect("00000c", "Landing", 30, "PROTO-1");
	for (const [index, room] of rooms.entries()) await connect(`00010${index}`, room, 50);
	const page = await open(t, url, phone);
	const kitchen = page.getByRole("region", { name: "Kitchen" });
	const slider = kitchen.getByRole("slider", { name: "Volume of Kitchen" });
	const volumesOf = ({ commands }: ScriptedDevice) =>
		commands.filter(({ command }) => command === "set_volume").map(({ value }) => Number(value));

	await t.test("shows a tile for each room, without violations", async () => {
		await kitchen.waitFor();
		await checkView(page);
	});

	await t.test("scrolls by a vertical swipe on a slider, which changes no volume", async () => {
		const scrolled = (): Promise<number> => page.evaluate("scrollY");
		await slider.scrollIntoViewIfNeeded();
		const before = await scrolled();
		await swipe(page, slider, 0.9, [3, before > 150 ? 300 : -300]);
		await eventually(scrolled, (top) => Math.abs(top - before) > 100);
		await slider.tap();
		assert.deepEqual(volumesOf(left), []);
		assert.equal(new URL(page.url()).hash, "#/", "no device is opened");
	});

	await t.test("sets a room in proportion by a horizontal swipe, as its devices report", async () => {
		await slider.scrollIntoViewIfNeeded();
		await swipe(page, slider, 0.6, [-120, 4]);
		const readVolume = () => volumesOf(right).at(-1) ?? 60;
		const volume = await eventually(readVolume, (value) => value < 45 && Number.isFinite(value));
		await waitUntil(() => volumesOf(left).at(-1) === Math.round(volume / 3));
		await slider.fill("30");
		await left.receives({ command: "set_volume", value: 10 });
		await right.receives({ command: "set_volume", value: 30 });
		assert.equal(await problems(page).count(), 0);
		assert.deepEqual(volumesOf(alone), [], "other rooms are unchanged");
	});

	await t.test("mutes a room, or all rooms after a question", async () => {
		await kitchen.getByRole("button", { name: "Mute Kitchen" }).click();
		await right.receives({ command: "set_mute", value: true });
		await checkView(page);
		await page.getByRole("button", { name: "Search" }).click();
		await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").fill("mute all");
		await checkView(page);
		await page.keyboard.press("Enter");
		await page.getByRole("dialog", { name: "Mute 9 devices in 9 rooms?" }).waitFor();
		await checkView(page);
		await page.getByRole("button", { name: "Cancel" }).click();
		await page.keyboard.press("Escape");
	});

	await t.test("opens the page of a room, and of a device, and returns by the back button", async () => {
		await kitchen.getByRole("link", { name: "Kitchen", exact: true }).click();
		await page.getByRole("heading", { level: 1, name: "Kitchen" }).waitFor();
		await page.getByText("2 of 2 connected").waitFor();
		await checkView(page);
		await page.getByRole("link", { name: left.deviceId, exact: true }).click();
		await page.getByRole("heading", { level: 1, name: left.deviceId }).waitFor();
		assert.equal(await page.evaluate("scrollY"), 0);
		await page.goBack();
		await page.getByRole("heading", { level: 1, name: "Kitchen" }).waitFor();
	});

	await t.test("moves rings only while a sound plays, and never with reduced motion", async (t) => {
		/** Counts different pictures of the ring in 60 frames, up to 3. */
		const pictures = (on: Page): Promise<number> =>
			on.evaluate(`new Promise((done) => {
				const seen = new Set();
				let frames = 0;
				const look = () => {
					seen.add(document.querySelector(".ring").getAttribute("style"));
					if (++frames < 60 && seen.size < 3) requestAnimationFrame(look);
					else done(seen.size);
				};
				setTimeout(look, 300);
			})`);
		for (const [reducedMotion, state, count] of [
			["no-preference", "idle", 1],
			["no-preference", "playing", 3],
			["reduce", "playing", 1],
		] as const) {
			alone.report({ "peripherals.audio.player_state": state });
			const looked = await open(t, url, { reducedMotion, view: `#/devices/${alone.deviceId}` });
			await looked.getByText(state === "playing" ? "Playing" : "Connected", { exact: true }).waitFor();
			await looked.getByRole("img", { name: "LED ring: rainbow, 50%" }).waitFor();
			assert.equal(await pictures(looked), count, `${reducedMotion}, ${state}`);
		}
	});
});
