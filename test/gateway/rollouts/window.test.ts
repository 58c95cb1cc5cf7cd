import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { days } from "../../../gateway/api/times.js";
import { isInWindow } from "../../../gateway/rollouts/window.js";
import "../../support/property-runs.js";

const night = { days: ["fri"], from: "22:00", to: "05:30", timeZone: "Europe/Berlin" } as const;
const sunday = { ...night, days: ["sun"] } as const;
const day = { ...night, from: "09:00", to: "17:00", timeZone: "UTC" } as const;

// 20 November 2026 and 3 July are Fridays. Berlin is an hour ahead of UTC in winter, and two in summer.
for (const [window, time, isOpen] of [
	[night, "2026-11-20T04:00:00Z", false],
	[night, "2026-11-20T20:59:59Z", false],
	[night, "2026-11-20T21:00:00Z", true],
	[night, "2026-11-21T04:29:59Z", true],
	[night, "2026-11-21T04:30:00Z", false],
	[night, "2026-11-21T21:00:00Z", false],
	[night, "2026-07-03T19:59:00Z", false],
	[night, "2026-07-03T20:00:00Z", true],
	[sunday, "2026-11-23T04:00:00Z", true],
	[day, "2026-11-20T16:59:59Z", true],
	[day, "2026-11-21T12:00:00Z", false],
] as const)
	test(`is ${isOpen ? "open" : "closed"} at ${time} on ${window.days} from ${window.from}`, () => {
		assert.equal(isInWindow(window, Date.parse(time)), isOpen);
	});

test("is open daily between its times for a window of all days", () => {
	const clock = fc.nat(1439);
	const text = (minute: number) =>
		`${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
	fc.assert(
		fc.property(clock, clock, fc.nat(525_599), (from, to, minute) => {
			const window = { days, from: text(from), to: text(to), timeZone: "UTC" };
			const at = minute % 1440;
			const length = (to - from + 1440) % 1440 || 1440;
			const isOpen = (at - from + 1440) % 1440 < length;
			assert.equal(isInWindow(window, Date.UTC(2026, 0, 1) + minute * 60_000), isOpen);
		}),
		{ examples: [[600, 600, 900]] },
	);
});
