import assert from "node:assert/strict";
import { test } from "node:test";
import type { QuietHours } from "../../../gateway/api/quiet-hours.js";
import { quietOf } from "../../../gateway/dashboard/page/model/rooms.js";

test("shows quiet hours of a room, or else of all devices, but none of a device", () => {
	const quiet = (targets: QuietHours["targets"]): QuietHours => ({
		id: "1",
		targets,
		from: "22:00",
		until: "07:00",
		volume: 20,
		on: true,
		zone: "UTC",
		by: null,
		changedAt: "2026-11-26T12:00:00Z",
		holdsUntil: null,
	});
	const [all, room, device] = [quiet({ all: true }), quiet({ room: "Hall" }), quiet({ device: "dev-1-a" })];
	assert.equal(quietOf([all, room, device], "Hall"), room);
	assert.equal(quietOf([all, room, device], "Attic"), all);
	assert.equal(quietOf([all, room, device], undefined), all);
	assert.equal(quietOf([room, device], undefined), undefined);
});
