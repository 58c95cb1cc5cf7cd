import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { SchedulesView } = await import("../../../../../gateway/dashboard/page/views/schedules.js");

const devices = [
	speaker("a", { name: "Oven", room: "Kitchen" }),
	speaker("b", { name: "Shelf", room: "Hall" }),
];
const by = { by: "Ada", createdAt: "2026-01-01T11:00:00.000Z", last: null, zone: "UTC", on: true };
const weekly = {
	...by,
	id: "1",
	name: "Closing",
	at: { weekly: { time: "17:00", days: ["mon", "tue"] } },
	do: { announcement: { text: "We close", targets: { room: "Kitchen" }, chime: "attention" } },
	nextAt: "2026-01-05T17:00:00.000Z",
};
const pizza = {
	...by,
	id: "2",
	name: "Pizza",
	at: { in: 600 },
	do: { command: { targets: { all: true }, payload: { command: "set_volume", value: 30 } } },
	nextAt: "2026-01-01T12:10:00.000Z",
};
const quiet = {
	...{ id: "q", on: true, zone: "UTC", by: "Ada", changedAt: by.createdAt, holdsUntil: null },
	...{ targets: { room: "Kitchen" }, from: "22:00", until: "06:00", volume: 20 },
};
const replies = {
	"GET /api/sounds": { sounds: [], canSpeak: true },
	"GET /api/schedules": { zone: "UTC", schedules: [weekly, pizza] },
	"GET /api/quiet-hours": { zone: "UTC", quietHours: [quiet] },
	"POST /api/schedules": {},
	"PUT /api/schedules/1": {},
	"DELETE /api/schedules/1": {},
	"DELETE /api/schedules/2": {},
	"PUT /api/quiet-hours": {},
};
const { name, at, do: action } = weekly;

function show(t: TestContext, options: MountOptions = {}, search = "") {
	return mount(t, SchedulesView, { search }, { devices, replies, ...options });
}

describe("schedules view", () => {
	const everywhere = { targets: { all: true } };
	for (const { what, button, steps, changes } of [
		{
			what: "creates a weekly announcement",
			button: "New schedule",
			steps: {
				Message: " We open ",
				Sat: "check",
				Sun: "check",
				Where: "Kitchen (1)",
				"Chime first": "check",
			},
			changes: [
				"POST /api/schedules",
				{
					at: { weekly: { time: "08:00", days: ["mon", "tue", "wed", "thu", "fri"] } },
					do: { announcement: { text: " We open ", targets: { room: "Kitchen" }, chime: "attention" } },
				},
			],
		},
		{
			what: "creates a schedule for one time",
			button: "New schedule",
			steps: {
				Once: "press",
				"Date and time": "2037-11-28T07:30",
				Action: "Play a chime",
				"Name (optional)": "Tea",
			},
			changes: [
				"POST /api/schedules",
				{
					name: "Tea",
					at: { once: "2037-11-28T07:30" },
					do: { command: { ...everywhere, payload: { command: "play_audio", value: "attention" } } },
				},
			],
		},
		{
			what: "starts a timer",
			button: "New timer",
			steps: { "15 min": "press", Minutes: "20", Action: "Set the volume", Volume: "40" },
			changes: [
				"POST /api/schedules",
				{
					at: { in: 1200 },
					do: { command: { ...everywhere, payload: { command: "set_volume", value: 40 } } },
				},
			],
		},
		{
			what: "changes a schedule",
			button: "Edit Closing",
			steps: { Time: "17:50", Wed: "check", "Chime first": "check" },
			changes: [
				"PUT /api/schedules/1",
				{
					name,
					on: true,
					at: { weekly: { time: "17:50", days: ["mon", "tue", "wed"] } },
					do: { announcement: { text: "We close", targets: { room: "Kitchen" } } },
				},
			],
		},
		{
			what: "limits the volume at night",
			button: "Set quiet hours",
			steps: {
				Where: "Kitchen (1)",
				From: "23:00",
				"Maximum volume": "10",
				"Only urgent announcements": "check",
			},
			changes: [
				"PUT /api/quiet-hours",
				{
					targets: { room: "Kitchen" },
					from: "23:00",
					until: "06:00",
					volume: 10,
					on: true,
					onlyUrgent: true,
				},
			],
		},
	])
		test(what, async (t) => {
			const page = await show(t);
			await page.click("button", button);
			const dialog = page.within("dialog");
			for (const [label, value] of Object.entries(steps))
				if (value === "press") await dialog.click("button", label);
				else if (value === "check") await dialog.click("checkbox", label);
				else await dialog.enter(label, value);
			await dialog.click("button", /^(Save|Start timer)$/);
			assert.deepEqual(page.gateway.changes, [changes]);
			assert.equal(page.has("dialog"), false);
		});

	test("requires a message and a day", async (t) => {
		const page = await show(t);
		await page.click("button", "New schedule");
		assert.ok(page.isOff("button", "Save"), "without a message");
		await page.enter("Message", "We open");
		assert.equal(page.isOff("button", "Save"), false);
		for (const day of ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]) await page.click("checkbox", day);
		assert.ok(page.isOff("button", "Save"), "without a day");
	});

	test("switches a schedule off, deletes it after confirmation, and cancels a timer", async (t) => {
		const page = await show(t);
		const schedules = page.within("list", "Schedules");
		await schedules.click("button", "On: Closing");
		await schedules.click("button", "Delete Closing");
		await page.within("dialog").click("button", "Cancel");
		await schedules.click("button", "Delete Closing");
		await page.within("dialog").click("button", "Delete");
		assert.equal(schedules.has("button", "Edit Pizza"), false);
		await schedules.click("button", "Cancel Pizza");
		assert.deepEqual(page.gateway.changes, [
			["PUT /api/schedules/1", { name, at, do: action, on: false }],
			["DELETE /api/schedules/1", undefined],
			["DELETE /api/schedules/2", undefined],
		]);
	});

	test("keeps the form open with the reason if the gateway rejects it", async (t) => {
		const full = () => Response.json({ detail: "At most 200 schedules." }, { status: 409 });
		const page = await show(t, { replies: { ...replies, "POST /api/schedules": full } });
		await page.click("button", "New timer");
		await page.enter("Minutes", "7");
		await page.click("button", "Start timer");
		assert.deepEqual(page.within("dialog").problems, ["At most 200 schedules."]);
		assert.equal(page.field("Minutes").value, "7");
	});

	test("opens the quiet hours of the address", async (t) => {
		const page = await show(t, {}, "?room=Kitchen");
		assert.equal(page.field("From").value, "22:00");
	});

	test("has no controls if the gateway has no schedules", async (t) => {
		const page = await show(t, { replies: {} });
		assert.deepEqual(page.texts("button"), []);
		assert.equal(page.has("heading", "Schedules"), true);
	});
});
