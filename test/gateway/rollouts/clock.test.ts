import assert from "node:assert/strict";
import { test } from "node:test";
import { isInWindow } from "../../../gateway/rollouts/clock.js";

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
