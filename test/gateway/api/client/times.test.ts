import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	actionText,
	asTargets,
	daysText,
	dueText,
	lastText,
	localTime,
	placeText,
	quietText,
	timeText,
	whenText,
} from "../../../../gateway/api/client/times.js";
import type { QuietHours } from "../../../../gateway/api/quiet-hours.js";
import type { LastRun, Schedule } from "../../../../gateway/api/schedule.js";

const zone = "Europe/Berlin";
/** Thursday, 13:00 in that zone. */
const now = Date.parse("2026-11-26T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toISOString();

function schedule(more: Partial<Schedule>): Schedule {
	return {
		id: "a",
		at: { weekly: { time: "17:50" } },
		do: { announcement: { text: "We close", targets: { all: true } } },
		on: true,
		zone,
		by: "monitor",
		createdAt: inSeconds(-1000),
		nextAt: null,
		last: null,
		...more,
	};
}

function quiet(targets: QuietHours["targets"], more: Partial<QuietHours> = {}): QuietHours {
	const ids = { id: JSON.stringify(targets), zone, by: null, changedAt: inSeconds(0), holdsUntil: null };
	return { ...ids, targets, from: "22:00", until: "07:00", on: true, ...more };
}

describe("schedule text", () => {
	test("names days in words", () => {
		const all = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
		assert.equal(daysText(), "Daily");
		assert.equal(daysText(all), "Daily");
		assert.equal(daysText(all.slice(0, 5)), "Mon–Fri");
		assert.equal(daysText(["sat", "sun"]), "Sat, Sun");
		assert.equal(daysText(["sun", "mon", "tue", "wed", "thu"]), "Sun–Thu");
		assert.equal(daysText(["mon", "wed", "thu", "fri"]), "Mon, Wed–Fri");
		assert.equal(daysText(["wed"]), "Wed");
	});

	test("shows its time", () => {
		assert.equal(whenText({ weekly: { time: "17:50", days: ["mon", "tue", "wed"] } }), "Mon–Wed 17:50");
		assert.equal(whenText({ once: "2026-11-28T07:30" }), "Sat 28 Nov 07:30");
		assert.equal(whenText({ in: 720 }), "Timer: 12 min");
	});

	test("shows when it is due, in the zone of the schedule", () => {
		const due = (seconds: number, at?: Schedule["at"]) =>
			dueText(schedule({ nextAt: inSeconds(seconds), ...(at && { at }) }), now);
		assert.equal(due(720), "in 12 min");
		assert.equal(due(600, { in: 600 }), "10 min left");
		assert.equal(due(89, { in: 600 }), "89 s left");
		assert.equal(due(-3), "in 0 s");
		assert.equal(due(17_400), "next today");
		assert.equal(due(86_400), "next Fri 27 Nov");
		assert.equal(due(17_400, { in: 20_000 }), "at 17:50");
		assert.equal(due(86_400, { in: 90_000 }), "at Fri 27 Nov 13:00");
		assert.equal(due(86_400, { once: "2026-11-27T13:00" }), "", "shown by its time");
		assert.equal(dueText(schedule({ on: false }), now), "Off");
		assert.equal(dueText(schedule({}), now), "Finished");
	});

	test("shows its last result", () => {
		const last = (more: Partial<LastRun>, of = schedule({})) => {
			const run = { dueAt: inSeconds(-600), at: inSeconds(-540), outcome: "done", reason: null, job: null };
			return lastText(of, { ...run, outcome: "done", ...more }, now);
		};
		const command = { targets: { all: true }, payload: { command: "stop_sound" } } as const;
		assert.equal(last({}), "Played at 12:51");
		assert.equal(last({}, schedule({ do: { command } })), "Done at 12:51");
		assert.equal(last({ outcome: "late" }), "Played late at 12:51");
		assert.equal(
			last({ outcome: "missed", reason: "The gateway was not running." }),
			"Missed at 12:50. The gateway was not running.",
		);
		assert.equal(last({ outcome: "failed", dueAt: inSeconds(-86_400) }), "Failed at Wed 25 Nov 13:00");
	});

	test("shows its action and targets", () => {
		const names = (id: string) => (id === "1" ? "Gong" : undefined);
		const targets = { all: true };
		const command = (payload: NonNullable<Schedule["do"]["command"]>["payload"]) =>
			actionText({ command: { targets, payload } }, names);
		assert.equal(actionText({ announcement: { text: "We close", targets } }, names), "“We close”");
		assert.equal(actionText({ announcement: { sound: "1", targets } }, names), "Gong");
		assert.equal(actionText({ announcement: { sound: "2", targets } }, names), "A sound that is gone");
		assert.equal(command({ command: "set_volume", value: 30 }), "Volume 30");
		assert.equal(command({ command: "set_brightness", value: 0.29 }), "Brightness 29 %");
		assert.equal(command({ command: "play_audio", value: "attention" }), "Chime: Attention");
		assert.equal(command({ command: "stop_sound" }), "Stop sound");
		const nameOf = (id: string) => `Speaker ${id}`;
		assert.deepEqual(
			[{ all: true }, { room: "Hall" }, { devices: ["a"] }, { devices: ["a", "b"] }].map((each) =>
				placeText(each, nameOf),
			),
			["All devices", "Hall", "Speaker a", "2 devices"],
		);
	});
});

describe("quiet-hours text", () => {
	test("shows times and limits", () => {
		const all = { all: true };
		assert.equal(
			quietText(quiet(all, { volume: 0, brightness: 0.1, onlyUrgent: true })),
			"Daily 22:00–07:00 · Volume ≤ 0, ring ≤ 10%, only urgent announcements",
		);
		assert.equal(
			quietText(quiet(all, { days: ["sat"], volume: 20, onlyUrgent: false })),
			"Sat 22:00–07:00 · Volume ≤ 20",
		);
	});

	test("covers the targets of announcements", () => {
		assert.deepEqual(asTargets({ device: "dev-1-a" }), { devices: ["dev-1-a"] });
		assert.deepEqual(asTargets({ room: "Hall" }), { room: "Hall" });
	});
});

test("shows times in the zone, across the end of daylight saving time", () => {
	assert.equal(localTime(Date.parse("2026-10-25T00:30:00Z"), zone), "2026-10-25T02:30");
	assert.equal(localTime(Date.parse("2026-10-25T01:30:00Z"), zone), "2026-10-25T02:30");
	assert.equal(timeText("2026-11-26T22:59:00Z", now, zone), "23:59");
	assert.equal(timeText("2026-11-26T23:00:00Z", now, zone), "Fri 27 Nov 00:00");
	assert.equal(timeText("2026-11-26T23:00:00Z", now, "UTC"), "23:00");
});
