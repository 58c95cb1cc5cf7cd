import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { speaker } from "../gateway.js";
import { mount } from "../mount.js";

const { Shell } = await import("../../../../../gateway/dashboard/page/views/shell.js");
await import("../../../../../gateway/dashboard/page/views/later.js");

const devices = [
	speaker("a", { name: "Oven", room: "Kitchen" }),
	speaker("b", { name: "Shelf", room: "Kitchen" }),
];
const replies = { "GET /api/quiet-hours": { quietHours: [] } };

describe("frame of the page", () => {
	for (const { role, managed } of [
		{ role: "monitor", managed: ["Firmware", "Add device", "Settings"] },
		{ role: "viewer", managed: ["Firmware", "Add device", "Settings"] },
		{ role: "user", managed: ["Settings"] },
	] as const)
		test(`offers the role ${role} the views that it can use`, async (t) => {
			const page = await mount(t, Shell, {}, { devices, role, replies });
			const links = page.within("navigation", "Views").texts("link");
			assert.deepEqual(links, ["Home", "Announce", "Schedules", "Issues", ...managed]);
		});

	test("hides schedules if the gateway has none", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		assert.equal(page.has("link", "Schedules"), false);
	});

	test("opens each view by its link", async (t) => {
		const page = await mount(t, Shell, {}, { devices, replies });
		for (const name of ["Announce", "Firmware", "Settings", "Home"]) {
			const link = page.within("navigation", "Views").find("link", name);
			await page.open(`${link.getAttribute("href")}`);
			assert.equal(link.getAttribute("aria-current"), "page");
			await page.until(() => page.has("heading", name));
		}
	});

	for (const address of [
		"#/",
		"#/devices/a",
		"#/announce",
		"#/times",
		"#/attention",
		"#/firmware",
		"#/settings",
	])
		test(`requests nothing once the view at ${address} is left`, async (t) => {
			const page = await mount(t, Shell, {}, { devices, replies, address });
			await page.report("a");
			await page.until(() => page.has("heading") && !page.texts("status").includes("Loading…"));
			await page.leave();
			const count = () => [...page.gateway.counts.values()].reduce((sum, each) => sum + each, 0);
			const before = count();
			await page.advance(60 * 60_000);
			assert.equal(count(), before);
		});

	test("announces an outage with the age of the data, and reconnects on request", async (t) => {
		t.mock.method(Math, "random", () => 0.999);
		const page = await mount(t, Shell, {}, { devices });
		assert.equal(page.has("complementary", "Connection"), false);
		await page.advance(60_000);
		for (let losses = 0; losses < 4; losses += 1) {
			page.gateway.lose();
			await page.advance(8_000);
		}
		const banner = () => page.find("complementary", "Connection").textContent ?? "";
		assert.match(banner(), /unreachable.*1 min/);
		assert.match(page.find("link", "Oven").closest("article")?.textContent ?? "", /Volume/, "keeps the data");
		const { length } = page.gateway.sockets;
		page.gateway.lose();
		await page.advance();
		await page.click("button", "Retry now");
		assert.equal(page.gateway.sockets.length, length + 1);
		page.gateway.accept();
		await page.advance();
		assert.equal(page.has("complementary", "Connection"), false);
	});

	test("tells a restart of the gateway from an outage for a minute", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		page.gateway.lose(1001);
		await page.advance();
		const banner = () => page.find("complementary", "Connection").textContent ?? "";
		assert.match(banner(), /restarting/);
		await page.advance(61_000);
		assert.match(banner(), /unreachable/);
	});

	test("warns of other gateways that are unreachable, or have other releases", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		const cluster = { type: "cluster_update", gateway: "a", gateways: 2 } as const;
		for (const [alone, releasesDiffer, label] of [
			[true, true, "Gateways"],
			[false, true, "Releases"],
			[false, false, undefined],
		] as const) {
			page.gateway.send({ ...cluster, alone, releasesDiffer });
			await page.advance();
			for (const each of ["Gateways", "Releases"])
				assert.equal(page.has("complementary", each), each === label, each);
		}
	});
});

describe("search palette", () => {
	const field = "Search devices, rooms, views and actions";
	const keys = { ctrlKey: true } as const;

	for (const { typed, presses = ["Enter"], address } of [
		{ typed: "kitchen", address: "#/rooms/Kitchen" },
		{ typed: "oven", address: "#/devices/a" },
		{ typed: "kitchen", presses: ["ArrowDown", "ArrowDown", "ArrowUp", "Enter"], address: "#/devices/a" },
		{ typed: "audit", address: "#/settings/changes" },
		{ typed: "announce kitchen", address: "#/announce?room=Kitchen" },
	] as const)
		test(`opens ${address} after “${typed}” and ${presses}`, async (t) => {
			const page = await mount(t, Shell, {}, { devices });
			await page.press("main", "", "k", keys);
			await page.until(() => page.has("dialog"));
			await page.enter(field, typed);
			for (const key of presses) await page.press("combobox", field, key);
			assert.equal(location.hash, address);
			assert.equal(page.has("dialog"), false);
		});

	for (const { role, offers } of [
		{ role: "monitor", offers: true },
		{ role: "user", offers: true },
		{ role: "viewer", offers: false },
	] as const)
		test(`${offers ? "offers" : "hides"} actions for the role ${role}`, async (t) => {
			const page = await mount(t, Shell, {}, { devices, role });
			await page.click("button", /^Search/);
			await page.enter(field, "shelf");
			const flash = /Flash light of Shelf/;
			assert.equal(page.has("option", flash), offers);
			if (offers) {
				await page.click("option", flash);
				assert.deepEqual(page.gateway.takeCommands(), [["b", "identify"]]);
				await page.click("button", /^Search/);
			}
			await page.enter(field, "mute all");
			assert.equal(page.has("option", /Mute all/), offers);
		});

	test("says that nothing matches", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		await page.click("button", /^Search/);
		await page.enter(field, "nowhere");
		assert.deepEqual(page.all("option"), []);
		assert.notDeepEqual(page.within("dialog").texts("status"), [""]);
	});
});
