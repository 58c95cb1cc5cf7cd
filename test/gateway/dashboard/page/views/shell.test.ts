import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { Shell } = await import("../../../../../gateway/dashboard/page/views/shell.js");
await import("../../../../../gateway/dashboard/page/views/later.js");

const devices = [
	speaker("a", { name: "Oven", room: "Kitchen" }),
	speaker("b", { name: "Shelf", room: "Kitchen" }),
];
const replies = { "GET /api/quiet-hours": { quietHours: [] } };
const outdated = devices.map((device) => ({ ...device, firmwareVersion: "1.0.0" }));
const images = [{ model: "DEV-1", chip: "esp32s3", path: "", size: 1, sha256: "", idf_version: "" }];
const withRelease = {
	"GET /ota/catalog": {
		...{ schema: 1, latest: "2.0.0" },
		releases: [{ version: "2.0.0", date: "", notes: "", images }],
	},
	"GET /ota/status": { filename: null },
};
const counts = { waiting: 0, away: 0, asked: 0, done: 2, failed: 0, unsupported: 0, cancelled: 0 };
const jobs = {
	"POST /api/commands": { id: "1" },
	"GET /api/commands/1": {
		...{ id: "1", by: "Ada", createdAt: "2026-01-01T12:00:00.000Z", endedAt: "2026-01-01T12:00:01.000Z" },
		...{ counts, payload: { command: "set_volume", value: 0 }, devices: [] },
	},
};
const mute = (devices: readonly string[], value: number) => ({
	payload: { command: "set_volume", value },
	targets: { devices },
});

describe("frame of the page", () => {
	for (const { role, managed } of [
		{ role: "monitor", managed: ["Firmware", "Add device", "Settings"] },
		{ role: "viewer", managed: ["Firmware", "Settings"] },
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

	for (const address of [
		"#/",
		"#/devices/a",
		"#/announce",
		"#/schedules",
		"#/issues",
		"#/firmware",
		"#/settings",
	])
		test(`requests nothing once the view at ${address} is left`, async (t) => {
			const page = await mount(t, Shell, {}, { devices, replies, address });
			await page.report("a");
			await page.until(() => page.has("heading") && !page.texts("status").includes("Loading…"));
			await page.leave();
			const count = () => [...page.gateway.counts.values()].reduce((sum, count) => sum + count, 0);
			const before = count();
			await page.advance(60 * 60_000);
			assert.equal(count(), before);
		});

	test("announces an outage with the age of the data, and reconnects on request", async (t) => {
		t.mock.method(Math, "random", () => 0.999);
		const page = await mount(t, Shell, {}, { devices });
		await page.click("button", "Devices in Kitchen");
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
			for (const name of ["Gateways", "Releases"])
				assert.equal(page.has("complementary", name), name === label, name);
		}
	});
});

describe("search palette", () => {
	const field = "Search devices, rooms, views and actions";
	const keys = { ctrlKey: true } as const;

	const open = async (t: TestContext, typed: string, options: MountOptions = {}) => {
		const page = await mount(t, Shell, {}, { devices, ...options });
		await page.press("main", "", "k", keys);
		await page.until(() => page.has("dialog"));
		await page.enter(field, typed);
		return page;
	};

	for (const { typed, presses = ["Enter"], address } of [
		{ typed: "kitchen", address: "#/rooms/Kitchen" },
		{ typed: "oven", address: "#/devices/a" },
		{ typed: "kitchen", presses: ["ArrowDown", "ArrowDown", "ArrowUp", "Enter"], address: "#/devices/a" },
		{ typed: "audit", address: "#/settings/changes" },
		{ typed: "announce kitchen", address: "#/announce?room=Kitchen" },
		{ typed: "update kitchen", address: "#/firmware?devices=a%2Cb" },
		{ typed: "update oven", address: "#/devices/a/firmware" },
	] as const)
		test(`opens ${address} after “${typed}” and ${presses}`, async (t) => {
			const page = await open(t, typed, { devices: outdated, replies: withRelease });
			for (const key of presses) await page.press("combobox", field, key);
			assert.equal(location.hash, address);
			assert.equal(page.has("dialog", "Search"), false);
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

	test("names the targets of an action, and asks before it reaches more than one room", async (t) => {
		const inHall = speaker("c", { name: "Door", room: "Hall" });
		const page = await open(t, "mute ki", { devices: [...devices, inHall], replies: jobs });
		assert.match(`${page.within("dialog").texts("status")}`, /2 devices in Kitchen/);
		await page.press("combobox", field, "Enter");
		assert.deepEqual(page.gateway.changes, [["POST /api/commands", mute(["a", "b"], 0)]]);
		await page.press("main", "", "k", keys);
		await page.enter(field, "mute all");
		await page.press("combobox", field, "Enter");
		assert.equal(page.gateway.changes.length, 1);
		const question = page.within("dialog", /^Mute 3 devices in Kitchen and Hall\?$/);
		await question.click("button", "Cancel");
		await page.press("combobox", field, "Enter");
		await question.click("button", "Mute");
		assert.deepEqual(page.gateway.changes[1], ["POST /api/commands", mute(["a", "b", "c"], 0)]);
	});

	test("unmutes those that are muted", async (t) => {
		const muted = { volume: 0, unmutedVolume: 30, features: ["mute"] as const };
		const page = await open(t, "unmute", {
			devices: [speaker("a", { room: "Kitchen", ...muted }), speaker("b", { room: "Kitchen" })],
			replies: jobs,
		});
		await page.press("combobox", field, "Enter");
		const payload = { command: "set_mute", value: false };
		assert.deepEqual(page.gateway.changes, [
			["POST /api/commands", { payload, targets: { devices: ["a"] } }],
		]);
	});

	for (const [words, targets] of [
		["timer 6 kitchen", { room: "Kitchen" }],
		["timer 6", { all: true }],
	] as const)
		test(`starts a timer by ${words}, and undoes it by a key`, async (t) => {
			const schedules = { "POST /api/schedules": { id: "s1" }, "DELETE /api/schedules/s1": {} };
			const page = await open(t, words, { replies: { ...replies, ...schedules } });
			await page.press("combobox", field, "Enter");
			const payload = { command: "play_audio", value: "attention" };
			const command = { targets, payload };
			assert.deepEqual(page.gateway.changes, [["POST /api/schedules", { at: { in: 360 }, do: { command } }]]);
			await page.until(() => page.has("button", "Undo"));
			await page.press("main", "", "z", keys);
			assert.deepEqual(page.gateway.changes.at(-1), ["DELETE /api/schedules/s1", undefined]);
			assert.equal(page.has("button", "Undo"), false);
		});

	test("shows the keys", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		await page.press("main", "", "?");
		await page.until(() => page.has("dialog"));
		assert.match(page.find("dialog", "Keys").textContent ?? "", /Undo/);
	});

	test("says that nothing matches", async (t) => {
		const page = await mount(t, Shell, {}, { devices });
		await page.click("button", /^Search/);
		await page.enter(field, "nowhere");
		assert.deepEqual(page.all("option"), []);
		assert.notDeepEqual(page.within("dialog").texts("status"), [""]);
	});
});
