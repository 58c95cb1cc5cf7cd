import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { Shell } = await import("../../../../../gateway/dashboard/page/views/shell.js");
await import("../../../../../gateway/dashboard/page/views/later.js");

const devices = [
	speaker("a", { room: "Kitchen", tags: ["beta"], volume: 40 }),
	speaker("b", { room: "Hall", volume: 20 }),
	speaker("c", { connected: false, lastSeenAt: "2026-01-01T10:00:00.000Z", volume: 10 }),
];
const all = ["a", "b", "c"];
const table = { devices, address: "#/?view=table&sort=model" };

async function openTable(t: TestContext, options: MountOptions = {}) {
	const page = await mount(t, Shell, {}, { ...table, ...options });
	const selected = () =>
		all.filter(
			(key) => page.find("row", new RegExp(`^Select ${key}\\b`)).getAttribute("aria-selected") === "true",
		);
	return { page, selected };
}

describe("table of devices", () => {
	test("selects single rows, a range with Shift, all and none", async (t) => {
		const { page, selected } = await openTable(t);
		await page.click("checkbox", "Select a");
		assert.deepEqual(selected(), ["a"]);
		await page.click("checkbox", "Select c", { shiftKey: true });
		assert.deepEqual(selected(), all);
		await page.click("checkbox", "Select none");
		assert.deepEqual(selected(), []);
		assert.equal(page.has("region", "Selected devices"), false);
		await page.click("checkbox", "Select all listed devices");
		assert.deepEqual(selected(), all);
	});

	test("selects with Space and opens with Enter, after the arrow keys have moved the focus", async (t) => {
		const { page, selected } = await openTable(t);
		await page.press("row", /^Select a\b/, "ArrowDown");
		assert.equal(document.activeElement, page.find("row", /^Select b\b/));
		await page.press("row", /^Select b\b/, " ");
		await page.press("row", /^Select b\b/, "End");
		await page.press("row", /^Select c\b/, " ", { shiftKey: true });
		assert.deepEqual(selected(), ["b", "c"]);
		const assign = t.mock.method(location, "assign", () => {});
		await page.press("row", /^Select c\b/, "Enter");
		assert.deepEqual(assign.mock.calls[0]?.arguments, ["#/devices/c"]);
	});

	test("is sorted by a column, and backwards by a second click", async (t) => {
		const { page } = await openTable(t);
		const order = () => page.all("row", /^Select [abc]\b/).map((row) => row.dataset.key);
		await page.click("button", "Room");
		assert.deepEqual(order(), ["b", "a", "c"]);
		assert.equal(page.find("columnheader", "Room").getAttribute("aria-sort"), "ascending");
		await page.click("button", "Room");
		assert.equal(page.find("columnheader", "Room").getAttribute("aria-sort"), "descending");
	});
});

describe("table by rooms", () => {
	const byRooms = { devices: devices.slice(0, 2), address: "#/?view=table" };

	test("starts each room with its totals, which select or open it", async (t) => {
		const offline = { connected: false, lastSeenAt: "2026-01-01T10:00:00.000Z" };
		const kitchen = [speaker("a", { room: "Kitchen" }), speaker("c", { room: "Kitchen", ...offline })];
		const page = await mount(t, Shell, {}, { ...byRooms, devices: kitchen });
		const heading = page.find("row", /^Select all in Kitchen/);
		assert.match(heading.textContent ?? "", /Kitchen2 devices1 offline/);
		await page.press("row", /^Select all in Kitchen/, " ");
		assert.deepEqual([...page.app.selection.keys], ["a", "c"]);
		const assign = t.mock.method(location, "assign", () => {});
		await page.press("row", /^Select none Kitchen/, "Enter");
		assert.deepEqual(assign.mock.calls[0]?.arguments, ["#/rooms/Kitchen"]);
	});

	test("says nothing where all is well, and shows the columns that this browser chose", async (t) => {
		const page = await mount(t, Shell, {}, byRooms);
		const titles = () => page.all("columnheader").map(({ textContent }) => textContent?.replace(" ▴", ""));
		const [device] = page.all("row", /^Select b/);
		assert.doesNotMatch(device?.textContent ?? "", /connected|now/i);
		assert.ok(titles().includes("Signal"), titles().join());
		await page.click("button", "Filter");
		await page.until(() => page.has("button", "Columns"));
		await page.click("button", "Columns");
		await page.click("checkbox", "Signal");
		assert.ok(!titles().includes("Signal"), titles().join());
		assert.equal(page.app.hiddenColumns.split(",").at(-1), "signal");
	});
});

describe("bar of the selected devices", () => {
	const counts = { waiting: 0, away: 0, asked: 2, done: 0, failed: 0, unsupported: 0, cancelled: 0 };
	const head = { id: "1", by: "Ada", createdAt: "2026-01-01T12:00:00.000Z", endedAt: null, counts };
	const replies = {
		"POST /api/commands": { id: "1" },
		"GET /api/commands/1": { ...head, payload: { command: "set_volume", value: 30 }, devices: [] },
		...Object.fromEntries(all.map((key) => [`PATCH /api/devices/${key}`, {}])),
		"DELETE /api/devices/c": {},
	};

	async function select(t: TestContext, options: MountOptions = {}) {
		const { page } = await openTable(t, { replies, ...options });
		await page.click("checkbox", "Select all listed devices");
		// Waiting later would let toasts end, as it advances the time.
		await page.until(
			() => page.has("region", "Selected devices") && document.querySelector(".toasts") !== null,
		);
		return { page, bar: page.within("region", "Selected devices") };
	}

	const setVolume = { payload: { command: "set_volume", value: 30 }, targets: { devices: ["a", "b"] } };
	for (const { what, menu, fields = {}, button, changes } of [
		{
			what: "sends a command to the connected devices",
			menu: "Volume",
			fields: { Volume: 30 },
			button: "Set volume",
			changes: [["POST /api/commands", setVolume]],
		},
		{
			what: "sets the room of the devices in other rooms",
			menu: "More",
			fields: { Room: "Kitchen" },
			button: "Set room",
			changes: ["b", "c"].map((key) => [`PATCH /api/devices/${key}`, { room: "Kitchen" }]),
		},
		{
			what: "adds a tag to the devices without it",
			menu: "Tags",
			button: /^beta/,
			changes: ["b", "c"].map((key) => [`PATCH /api/devices/${key}`, { tags: ["beta"] }]),
		},
	])
		test(what, async (t) => {
			const { page, bar } = await select(t);
			await bar.click("button", menu);
			for (const [name, value] of Object.entries(fields)) await bar.enter(name, value);
			await bar.click("button", button);
			if (menu === "Volume") {
				const question = page.within("dialog", "Volume 30: 2 devices in Kitchen and Hall?");
				await question.click("button", button);
			}
			assert.deepEqual(page.gateway.changes, changes);
			assert.deepEqual(page.problems, []);
		});

	for (const { menu, fields = {}, button, undone } of [
		{
			menu: "More",
			fields: { Room: "Kitchen" },
			button: "Set room",
			undone: [{ room: "Hall" }, { room: "" }],
		},
		{ menu: "Tags", button: /^beta/, undone: [{ tags: [] }, { tags: [] }] },
	])
		test(`undoes ${button}`, async (t) => {
			const { page, bar } = await select(t);
			await bar.click("button", menu);
			for (const [name, value] of Object.entries(fields)) await bar.enter(name, value);
			await bar.click("button", button);
			await page.until(() => page.has("button", "Undo"));
			page.gateway.changes.length = 0;
			await page.click("button", "Undo");
			await page.until(() => page.gateway.changes.length === 2);
			assert.deepEqual(
				page.gateway.changes,
				["b", "c"].map((key, at) => [`PATCH /api/devices/${key}`, undone[at]]),
			);
		});

	test("undoes a command with the values reported before, also where some devices failed", async (t) => {
		const { page, bar } = await select(t);
		await bar.click("button", "Volume");
		await bar.click("button", "Set volume");
		await page.within("dialog").click("button", "Set volume");
		await page.report("a", { "peripherals.audio.volume": 30 });
		page.gateway.send({
			...{ ...head, type: "command_update", payload: { command: "set_volume", value: 30 }, isOver: true },
			counts: { ...counts, asked: 0, done: 1, failed: 1 },
			devices: [],
		});
		await page.until(() => page.texts("listitem").some((text) => text.startsWith("Volume 30: 1 device")));
		await page.click("button", "Undo");
		assert.deepEqual(page.gateway.takeCommands(), [
			["a", "set_volume", 40],
			["b", "set_volume", 20],
		]);
		await page.report("a", { "peripherals.audio.volume": 40 });
		await page.report("b", { "peripherals.audio.volume": 20 });
		assert.match(`${page.texts("listitem")}`, /Undo: 2 devices/);
	});

	test("asks before it forgets the devices that are away, and removes them from the selection", async (t) => {
		const { page, bar } = await select(t);
		await bar.click("button", "More");
		await bar.click("button", /^Forget/);
		assert.deepEqual(page.gateway.changes, []);
		await page.within("dialog").click("button", /^Forget/);
		assert.deepEqual(page.gateway.changes, [["DELETE /api/devices/c", undefined]]);
		page.gateway.send({
			type: "summary",
			reason: "changed",
			timestamp: new Date().toISOString(),
			devices: [],
			removed: ["c"],
		});
		await page.advance();
		assert.match(`${bar.texts("status")}`, /^2/);
	});

	test("asks before a command for more than 20 devices", async (t) => {
		const many = Array.from({ length: 21 }, (_, index) => speaker(`d${index}`));
		const { page, bar } = await select(t, { devices: many });
		await bar.click("button", "Volume");
		await bar.click("button", "Set volume");
		assert.deepEqual(page.gateway.changes, []);
		await page.within("dialog").click("button", "Cancel");
		assert.deepEqual(page.gateway.changes, []);
		await bar.click("button", "Set volume");
		await page.within("dialog").click("button", "Set volume");
		assert.equal(page.gateway.changes.length, 1);
	});

	test("shows the result of each device, with the reason of a failure", async (t) => {
		const { page, bar } = await select(t);
		await bar.click("button", "Volume");
		await bar.click("button", "Set volume");
		await page.within("dialog").click("button", "Set volume");
		const at = head.createdAt;
		page.gateway.send({
			...{ ...head, type: "command_update", payload: { command: "set_volume", value: 30 }, isOver: true },
			counts: { ...counts, asked: 0, done: 1, failed: 1 },
			devices: [
				{ deviceId: "a", state: "done", reason: null, at },
				{ deviceId: "b", state: "failed", reason: "No codec.", at },
			],
		});
		await page.advance();
		await page.until(() => page.has("region", "Volume 30"));
		const job = page.within("region", "Volume 30");
		assert.match(`${job.texts("status")}`, /1 failed.*1 done/);
		await job.click("button", "Details");
		assert.match(`${job.texts("listitem")}`, /^b.*No codec.*a/);
		await job.click("button", "Close");
		assert.equal(page.has("region", "Volume 30"), false);
	});
});
