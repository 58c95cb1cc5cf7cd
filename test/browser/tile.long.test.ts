/** Tiles of devices, rooms and the whole home on a phone. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { bearer, monitorToken, noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

type Speaker = readonly [name: string, room: string, volume: number];

/** Starts a gateway with these speakers. */
async function setUp(t: TestContext, speakers: readonly Speaker[]) {
	const { url } = await runGateway(t, noRateLimits);
	const send = async (method: string, path: string, body: object) => {
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const { status } = await fetch(`${url}/api/${path}`, { method, headers, body: JSON.stringify(body) });
		assert.ok(status < 300, `${path}: ${status}`);
	};
	const devices: ScriptedDevice[] = [];
	for (const [index, [name, room, volume]] of speakers.entries()) {
		const report = { "peripherals.audio.volume": volume };
		const device = await new ScriptedDevice({ url, deviceId: `dev-1-00000${index}`, report }).connect();
		t.after(() => device.close());
		await send("PATCH", `devices/${device.deviceId}`, { name, room });
		devices.push(device);
	}
	return { url, devices, send };
}

async function boxOf(one: Locator) {
	const box = await one.boundingBox();
	assert.ok(box, "not visible");
	return box;
}

/** Moves a finger from a point, in steps as a phone reports them. */
async function swipe(page: Page, from: readonly [x: number, y: number], by: readonly [x: number, y: number]) {
	const client = await page.context().newCDPSession(page);
	const touch = (type: "touchStart" | "touchMove" | "touchEnd", share: number) =>
		client.send("Input.dispatchTouchEvent", {
			type,
			touchPoints: type === "touchEnd" ? [] : [{ x: from[0] + by[0] * share, y: from[1] + by[1] * share }],
		});
	await touch("touchStart", 0);
	for (let step = 1; step <= 20; step++) await touch("touchMove", step / 20);
	await touch("touchEnd", 1);
}

test("a tile", { skip }, async (t) => {
	const long = "Loudspeaker above the window of the sitting room and the terrace";
	const rooms = ["Larder", "Library", "Loft", "Lounge", "Nursery", "Office", "Porch", "Studio"];
	const { url, devices, send } = await setUp(t, [
		["Kitchen", "Kitchen", 25],
		[long, "Landing", 40],
		...rooms.map((room): Speaker => [room, room, 50]),
	]);
	await send("PUT", "quiet-hours", {
		targets: { room: "Kitchen" },
		from: "00:00",
		until: "23:59",
		volume: 20,
	});
	await send("POST", "schedules", {
		name: "Pizza",
		at: { in: 600 },
		do: { command: { targets: { all: true }, payload: { command: "set_volume", value: 30 } } },
	});
	const page = await open(t, url, phone);
	const tile = page.locator(".tile", { has: page.getByRole("link", { name: "Kitchen", exact: true }) });
	const slider = page.getByRole("slider", { name: "Volume of Kitchen" });
	const kitchen = devices[0];
	assert.ok(kitchen, "no device");
	await tile.waitFor();

	await t.test("has its size, and a name of two lines at most", async () => {
		const { width, height } = await boxOf(tile);
		assert.deepEqual([width, height], [358, 88]);
		const ring = await boxOf(tile.locator(".ring"));
		assert.deepEqual([ring.width, ring.height], [40, 40]);
		assert.equal((await boxOf(slider)).height, 44, "for a finger");
		await page.getByRole("link", { name: long }).waitFor();
		const [shown, line]: number[] = await page.evaluate(`(() => {
			const heading = [...document.querySelectorAll("h2")].find(({ textContent }) => textContent.startsWith("Loud"));
			return [heading.clientHeight, Number.parseFloat(getComputedStyle(heading).lineHeight)];
		})()`);
		assert.ok(shown && line && Math.round(shown / line) === 2, `${shown} of ${line} pixels`);
	});

	await t.test("has mute, announce and the quiet mark also in a room of one speaker", async () => {
		await tile.getByRole("button", { name: "Mute Kitchen" }).waitFor();
		const announce = await boxOf(tile.getByRole("link", { name: "Announce in Kitchen" }));
		assert.deepEqual([announce.width, announce.height], [44, 44]);
		await tile.getByRole("link", { name: "Quiet until 23:59" }).waitFor();
	});

	await t.test("scrolls by a vertical swipe on its slider, which changes nothing", async () => {
		const { x, y, width, height } = await boxOf(slider);
		await swipe(page, [x + width * 0.9, y + height / 2], [3, -300]);
		const scrolled = (): Promise<number> => page.evaluate("scrollY");
		await eventually(scrolled, (top) => top > 100);
		await page.evaluate("scrollTo(0, 0)");
		await page.touchscreen.tap(x + width * 0.9, y + height / 2);
		assert.equal(await slider.inputValue(), "25", "nor does a tap");
		assert.equal(page.url(), `${url}/#/`, "nor does it open the device");
		assert.deepEqual(
			kitchen.commands.filter(({ command }) => command === "set_volume"),
			[],
		);
	});

	await t.test("changes the volume by a horizontal swipe, from its value and in proportion", async () => {
		const { x, y, width, height } = await boxOf(slider);
		// 8 pixels start the swipe.
		await swipe(page, [x + width / 4, y + height / 2], [8 + (width - 20) / 2, 4]);
		const isNear = (volume: number) => Math.abs(volume - 75) <= 3;
		await eventually(async () => Number(await slider.inputValue()), isNear);
		await eventually(
			() => Number(kitchen.commands.findLast(({ command }) => command === "set_volume")?.value),
			isNear,
		);
	});

	await t.test("of the whole home has 56 pixels, the next timer and no device's quiet hours", async () => {
		const home = page.getByRole("region", { name: "Whole home" });
		assert.equal((await boxOf(home)).height, 56);
		await home.getByText(/^Pizza (9:\d\d|10:00)$/).waitFor();
		assert.equal(await home.getByRole("link", { name: /^Quiet/ }).count(), 0);
		await send("PUT", "quiet-hours", { targets: { all: true }, from: "00:00", until: "23:59", volume: 20 });
		await page.reload();
		await home.getByRole("link", { name: "Quiet until 23:59" }).waitFor();
	});
});
