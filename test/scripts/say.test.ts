import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTime, readLater } from "../../scripts/say/times.js";

test("npm run say parses a delay or a time", () => {
	assert.equal(readLater(undefined, undefined), undefined);
	const times = ["90s", "12m", "168h"].map((text) => readLater(text, undefined));
	assert.deepEqual(times, [{ in: 90 }, { in: 720 }, { in: 604_800 }]);
	for (const text of ["", "12", "0m", "1.5h", "169h", "12 m", "-5m"])
		assert.throws(
			() => readLater(text, undefined),
			/^UsageError: --in must be a duration such as 90s, 12m or 2h/,
		);
	assert.deepEqual(readLater(undefined, "17:50"), { at: "17:50" });
	assert.deepEqual(readLater(undefined, "2026-11-28T07:30"), { at: "2026-11-28T07:30" });
	for (const text of ["", "7:50", "24:00", "17:60", "28.11.2026", "2026-11-28 07:30"])
		assert.throws(() => readLater(undefined, text), /^UsageError: --at must be a time such as 17:50/);
	assert.throws(() => readLater("12m", "17:50"), /^UsageError: Specify one of --in and --at\./);
});

test("a time of day is the next one in the gateway's time zone", () => {
	const zone = "Europe/Berlin";
	const now = Date.parse("2026-12-31T22:30:00Z");
	assert.equal(nextTime("23:31", now, zone), "2026-12-31T23:31");
	assert.equal(nextTime("23:30", now, zone), "2027-01-01T23:30");
	assert.equal(nextTime("07:00", now, zone), "2027-01-01T07:00");
	assert.equal(nextTime("07:00", now, "Asia/Tokyo"), "2027-01-02T07:00");
	assert.equal(nextTime("07:30", now, "Asia/Tokyo"), "2027-01-02T07:30");
	assert.equal(nextTime("07:31", now, "Asia/Tokyo"), "2027-01-01T07:31");
	assert.equal(nextTime("2026-01-01T07:00", now, zone), "2026-01-01T07:00");
});
