import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { speaker } from "../gateway.js";
import { mount, type Page, passed, start } from "../mount.js";

const { FleetView } = await import("../../../../../gateway/dashboard/page/views/fleet.js");

const oven = speaker("a", { name: "Oven", room: "Kitchen", volume: 40 });
const shelf = speaker("b", { name: "Shelf", room: "Kitchen", volume: 20 });
const bed = speaker("c", { name: "Bed", room: "Bedroom", volume: 10 });
const devices = [oven, shelf, bed];
const home = { search: "" };

const volumes = (values: Readonly<Record<string, number>>) =>
	Object.entries(values).map(([key, value]) => [key, "set_volume", value]);

/** Shows the devices of each room. */
async function openRooms(page: Page): Promise<Page> {
	for (const button of page.all("button", /^Devices in /))
		if (button.getAttribute("aria-expanded") === "false")
			await page.click("button", button.getAttribute("aria-label") ?? "");
	return page;
}

/** Text of the tile of a device. */
const tileOf = (page: Page, name: string) => page.find("link", name).closest("article")?.textContent ?? "";

describe("home", () => {
	for (const { title, loudest, quieter } of [
		{ title: "Oven", loudest: { a: 80 }, quieter: { a: 40 } },
		{ title: "Kitchen", loudest: { a: 80, b: 40 }, quieter: { a: 40, b: 20 } },
		{ title: "Whole home", loudest: { a: 80, b: 40, c: 20 }, quieter: { a: 40, b: 20, c: 10 } },
	]) {
		test(`sets the volume of ${title} in proportion`, async (t) => {
			const page = await openRooms(await mount(t, FleetView, home, { devices }));
			assert.equal(page.field(`Volume of ${title}`).value, "40", "that of the loudest device");
			await page.enter(`Volume of ${title}`, 80);
			assert.deepEqual(page.gateway.takeCommands(), volumes(loudest));
			assert.equal(page.field(`Volume of ${title}`).value, "80", "before the reports");
			for (const [key, volume] of Object.entries(loudest))
				await page.report(key, { "peripherals.audio.volume": volume });
			await page.enter(`Volume of ${title}`, 40);
			assert.deepEqual(page.gateway.takeCommands(), volumes(quieter), "as of the latest reports");
		});

		const keys = Object.keys(loudest);
		const press = async (page: Page, expected: boolean) => {
			assert.equal(page.find("button", `Mute ${title}`).getAttribute("aria-pressed"), String(expected));
			await page.click("button", `Mute ${title}`);
			return page.gateway.takeCommands();
		};

		test(`mutes ${title} and unmutes it, while the slider stays`, async (t) => {
			const muting = devices.map((device) => ({ ...device, features: ["mute"] as const }));
			const page = await openRooms(await mount(t, FleetView, home, { devices: muting }));
			const all = (value: boolean) => keys.map((key) => [key, "set_mute", value]);
			assert.deepEqual(await press(page, false), all(true));
			for (const [key, volume] of Object.entries(quieter))
				await page.report(key, {
					...{ "peripherals.audio.volume": 0, "peripherals.audio.muted": true },
					"peripherals.audio.unmuted_volume": volume,
				});
			const slider = page.field(`Volume of ${title}`);
			assert.deepEqual([slider.value, slider.getAttribute("aria-valuetext")], ["40", "40, muted"]);
			assert.deepEqual(await press(page, true), all(false));
		});

		test(`mutes ${title} with older firmware, and restores the volume of each device, also after a reload`, async (t) => {
			const page = await openRooms(await mount(t, FleetView, home, { devices }));
			assert.deepEqual(
				await press(page, false),
				keys.map((key) => [key, "set_volume", 0]),
			);
			for (const key of keys) await page.report(key, { "peripherals.audio.volume": 0 });
			await page.leave();
			await page.render(FleetView, home);
			await openRooms(page);
			assert.deepEqual(await press(page, true), volumes(quieter));
		});
	}

	test("restores the volumes of a room as reported before the latest change", async (t) => {
		const muting = [oven, shelf].map((device) => ({ ...device, features: ["mute"] as const }));
		const page = await openRooms(await mount(t, FleetView, home, { devices: muting }));
		const confirm = async (volumes: Readonly<Record<string, number>>) => {
			for (const [key, volume] of Object.entries(volumes))
				await page.report(key, { "peripherals.audio.volume": volume, "peripherals.audio.muted": false });
		};
		await page.enter("Volume of Kitchen", 60);
		await confirm({ a: 60, b: 30 });
		await page.enter("Volume of Kitchen", 80);
		await page.enter("Volume of Kitchen", 100);
		await page.advance(200);
		await confirm({ a: 100, b: 50 });
		const texts = page.app.toasts.all.map(([, { text }]) => text);
		assert.deepEqual(texts, ["Volume 100: 2 devices"]);
		page.gateway.takeCommands();
		page.app.toasts.undo();
		await page.advance();
		assert.deepEqual(page.gateway.takeCommands(), volumes({ a: 60, b: 30 }));
	});

	test("mutes a room again that was unmuted, at its volumes", async (t) => {
		const audio = { volume: 0, features: ["mute"] as const };
		const muted = [
			{ ...oven, ...audio, unmutedVolume: 40 },
			{ ...shelf, ...audio, unmutedVolume: 20 },
		];
		const page = await openRooms(await mount(t, FleetView, home, { devices: muted }));
		await page.click("button", "Mute Kitchen");
		for (const [key, volume] of Object.entries({ a: 40, b: 20 }))
			await page.report(key, { "peripherals.audio.volume": volume, "peripherals.audio.muted": false });
		page.gateway.takeCommands();
		page.app.toasts.undo();
		await page.advance();
		assert.deepEqual(page.gateway.takeCommands(), [
			["a", "set_mute", true],
			["b", "set_mute", true],
		]);
	});

	test("unmutes what others muted: with older firmware to 50", async (t) => {
		const muted = [
			{ ...oven, volume: 0, unmutedVolume: 40, features: ["mute"] as const },
			{ ...shelf, volume: 0 },
		];
		const page = await openRooms(await mount(t, FleetView, home, { devices: muted }));
		await page.click("button", "Mute Kitchen");
		assert.deepEqual(page.gateway.takeCommands(), [
			["a", "set_mute", false],
			["b", "set_volume", 50],
		]);
	});

	test("changes the volume of a room only for devices that are not muted, or for all if all are", async (t) => {
		const audio = (volume: number, unmuted?: number) => ({
			"peripherals.audio.volume": volume,
			"peripherals.audio.muted": unmuted !== undefined,
			"peripherals.audio.unmuted_volume": unmuted,
		});
		const muting = [oven, shelf].map((device) => ({ ...device, features: ["mute"] as const }));
		const page = await openRooms(await mount(t, FleetView, home, { devices: muting }));
		await page.report("a", audio(0, 40));
		assert.equal(page.field("Volume of Kitchen").value, "20", "that of the audible device");
		await page.enter("Volume of Kitchen", 30);
		assert.deepEqual(page.gateway.takeCommands(), [["b", "set_volume", 30]]);
		await page.report("b", audio(0, 30));
		await page.enter("Volume of Kitchen", 80);
		assert.deepEqual(page.gateway.takeCommands(), volumes({ a: 80, b: 60 }));
	});

	test("shows the newer of a mute and a volume, and no failure of the older", async (t) => {
		const page = await openRooms(
			await mount(t, FleetView, home, { devices: [{ ...oven, features: ["mute"] }, bed] }),
		);
		await page.click("button", "Mute Oven");
		await page.enter("Volume of Oven", 30);
		assert.equal(page.find("button", "Mute Oven").getAttribute("aria-pressed"), "false");
		await page.report("a", { "peripherals.audio.volume": 30, "peripherals.audio.muted": false });
		await page.advance(15_000);
		assert.deepEqual(page.problems, []);
	});

	test("returns a volume to the reported one if the command is rejected, with the reason", async (t) => {
		const page = await openRooms(await mount(t, FleetView, home, { devices }));
		page.gateway.rejection = "the codec does not answer";
		await page.enter("Volume of Oven", 80);
		assert.equal(page.field("Volume of Oven").value, "40");
		assert.match(`${page.problems}`, /codec/);
		page.gateway.rejection = undefined;
		await page.enter("Volume of Oven", 80);
		await page.advance(200);
		assert.deepEqual(page.problems, []);
		await page.advance(15_000);
		assert.equal(page.field("Volume of Oven").value, "40", "unconfirmed");
		assert.equal(page.problems.length, 1);
	});

	test("counts the devices of a room that failed", async (t) => {
		const page = await openRooms(await mount(t, FleetView, home, { devices }));
		await page.enter("Volume of Kitchen", 80);
		await page.report("a", { "peripherals.audio.volume": 80 });
		await page.advance(15_000);
		assert.match(`${page.problems}`, /1 of 2/);
	});

	test("sets a large room in batches below the gateway's limit", async (t) => {
		const many = Array.from({ length: 45 }, (_, index) => speaker(`d${index}`, { room: "Shop" }));
		const page = await openRooms(await mount(t, FleetView, home, { devices: many }));
		await page.click("button", "Mute Shop");
		const counts = [page.gateway.takeCommands().length];
		for (let batches = 0; batches < 3; batches += 1) {
			await page.advance(500);
			counts.push(page.gateway.takeCommands().length);
		}
		assert.deepEqual(counts, [20, 20, 5, 0]);
	});

	for (const isPhone of [true, false])
		test(`lists ${isPhone ? "rooms on a phone" : "devices on a computer"} if there are many`, async (t) => {
			const many = Array.from({ length: 51 }, (_, index) =>
				speaker(`d${index}`, { room: `Shop ${index % 2}` }),
			);
			const page = await start(t, { devices: many });
			t.mock.method(globalThis, "matchMedia", () => ({ matches: isPhone }));
			await page.render(FleetView, home);
			assert.deepEqual([page.all("region").length, page.has("grid")], isPhone ? [2, false] : [0, true]);
			await page.leave();
		});

	test("selects a device by a long press of a finger, which does not open it", async (t) => {
		const page = await openRooms(await mount(t, FleetView, home, { devices }));
		const isSelected = () => Object(page.find("checkbox", "Select Oven")).checked;
		const link = page.find("link", "Oven");
		const press = async (pointerType: string, ms: number) => {
			link.dispatchEvent(new PointerEvent("pointerdown", { ...passed, pointerType }));
			await page.advance(ms);
			link.dispatchEvent(new PointerEvent("pointerup", { ...passed, pointerType }));
			const click = new MouseEvent("click", passed);
			// The link would be followed.
			addEventListener("click", (event) => event.preventDefault(), { once: true });
			const isPrevented = () => click.defaultPrevented;
			link.closest("article")?.addEventListener("click", () => seen.push(isPrevented()), { once: true });
			link.dispatchEvent(click);
			await page.advance();
		};
		const seen: boolean[] = [];
		await press("touch", 300);
		await press("mouse", 600);
		assert.equal(isSelected(), false);
		await press("touch", 600);
		assert.deepEqual([isSelected(), seen], [true, [false, false, true]]);
	});

	for (const what of ["devices that are away", "a lost connection"])
		test(`disables volume and mute for ${what}`, async (t) => {
			const here = devices.map((device) => ({ ...device, connected: what === "a lost connection" }));
			const page = await openRooms(await mount(t, FleetView, home, { devices: here }));
			if (what === "a lost connection") page.gateway.lose();
			await page.advance();
			for (const title of ["Oven", "Kitchen", "Whole home"])
				assert.deepEqual(
					[page.isOff("slider", `Volume of ${title}`), page.isOff("button", `Mute ${title}`)],
					[true, true],
					title,
				);
			assert.ok(page.has("link", "Oven"), "leads to the device");
		});

	test("shows a card for each room, which leads to its page and expands to its devices", async (t) => {
		const page = await mount(t, FleetView, home, { devices });
		const shown = () => ["Bed", "Oven", "Shelf"].filter((name) => page.has("link", name));
		assert.deepEqual(shown(), []);
		await page.click("button", "Devices in Kitchen");
		assert.deepEqual(shown(), ["Oven", "Shelf"]);
		await page.click("button", "Devices in Bedroom");
		for (const [name, address] of [
			["Bed", "#/devices/c"],
			["Bedroom", "#/rooms/Bedroom"],
			["Kitchen", "#/rooms/Kitchen"],
			["Announce in Bedroom", "#/announce?room=Bedroom"],
			["Announce in Kitchen", "#/announce?room=Kitchen"],
		] as const)
			assert.equal(page.find("link", name).getAttribute("href"), address);
		await page.leave();
		await page.render(FleetView, home);
		assert.deepEqual(shown(), ["Bed", "Oven", "Shelf"], "after a visit of another view");
		await page.click("button", "Devices in Kitchen");
		assert.deepEqual(shown(), ["Bed"]);
	});

	test("tells on the card of a room what plays, its timer and the limit of its quiet hours", async (t) => {
		const targets = { room: "Kitchen" };
		const at = { zone: "UTC", createdAt: "2026-01-01T12:00Z", changedAt: "2026-01-01T12:00Z", by: null };
		const chime = { command: { targets, payload: { command: "play_audio", value: "attention" } } };
		const timer = { ...at, id: "1", at: { in: 600 }, do: chime, on: true, nextAt: "2026-01-01T12:05:42Z" };
		const hours = { ...at, id: "2", targets, from: "12:00", until: "12:30", on: true, volume: 20 };
		const page = await mount(t, FleetView, home, {
			devices,
			replies: {
				"GET /api/schedules": { zone: "UTC", schedules: [timer] },
				"GET /api/quiet-hours": {
					zone: "UTC",
					quietHours: [{ ...hours, holdsUntil: "2026-01-01T12:30:00Z" }],
				},
			},
		});
		await page.report("a", { "peripherals.audio.player_state": "playing" });
		const card = (name: string) => page.find("region", name).textContent ?? "";
		assert.match(card("Kitchen"), /Playing.*2 devices.*Timer 5:4\d.*At most 20 until 12:30/);
		assert.doesNotMatch(card("Bedroom"), /Playing|Timer|At most/);
		const limited = ["Kitchen", "Bedroom"].map((name) =>
			page.field(`Volume of ${name}`).parentElement?.getAttribute("data-limited"),
		);
		assert.deepEqual(limited, ["true", "false"]);
	});

	const metadata = { otaPercent: null, otaVersion: "2.0.0", otaReason: "" };
	for (const [what, change, text] of [
		["its volume", {}, /40/],
		["that it is muted", { volume: 0 }, /muted/i],
		["that it is away", { connected: false, lastSeenAt: "2026-01-01T10:00Z" }, /offline/i],
		["a crash", { crashCount: 2 }, /crash/i],
		["safe mode", { safeMode: true }, /safe mode/i],
		["a running update", { metadata: { ...metadata, otaStatus: "downloading" } }, /downloading/i],
		["a failed update", { metadata: { ...metadata, otaStatus: "failed" } }, /failed/i],
	] as const)
		test(`shows ${what} on the tile of a device`, async (t) => {
			const page = await openRooms(
				await mount(t, FleetView, home, { devices: [{ ...oven, ...change }, shelf] }),
			);
			assert.match(tileOf(page, "Oven"), text);
		});

	test("shows a report as soon as it arrives", async (t) => {
		const page = await openRooms(await mount(t, FleetView, home, { devices }));
		await page.report("a", { "peripherals.audio.player_state": "playing", "peripherals.audio.volume": 33 });
		assert.match(tileOf(page, "Oven"), /playing/i);
		assert.equal(page.field("Volume of Oven").value, "33");
	});
});
