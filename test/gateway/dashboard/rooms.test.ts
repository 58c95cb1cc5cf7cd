import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { QuietHours } from "../../../gateway/api/quiet-hours.js";
import { moveVolumes, quietOf, type Volumes } from "../../../gateway/dashboard/page/model/rooms.js";

/** Room whose devices report each set value. */
class Room {
	volumes: Volumes;
	#moves: readonly Volumes[] = [];

	constructor(volumes: Volumes) {
		this.volumes = volumes;
	}

	move(to?: number): Volumes {
		this.#moves = moveVolumes(this.#moves, this.volumes, to);
		this.volumes = this.#moves.at(-1) ?? {};
		return this.volumes;
	}
}

describe("room volume", () => {
	test("changes its devices proportionally, even after the minimum or maximum", () => {
		const room = new Room({ a: 18, b: 50, c: 0 });
		assert.deepEqual(room.move(25), { a: 9, b: 25, c: 0 });
		assert.deepEqual(room.move(1), { a: 1, b: 1, c: 0 });
		assert.deepEqual(room.move(0), { a: 0, b: 0, c: 0 });
		assert.deepEqual(room.move(100), { a: 36, b: 100, c: 0 });
		assert.deepEqual(room.move(50), { a: 18, b: 50, c: 0 });
	});

	test("is restored for each device after a mute", () => {
		const room = new Room({ a: 18, b: 50 });
		room.move(25);
		room.move(0);
		assert.deepEqual(room.move(), { a: 9, b: 25 });
	});

	test("starts from the latest set volume, not from a late report", () => {
		const room = new Room({ a: 20, b: 40 });
		room.move(20);
		room.volumes = { a: 10, b: 40 };
		assert.deepEqual(room.move(40), { a: 20, b: 40 });
		room.volumes = { a: 30, b: 40 };
		assert.deepEqual(room.move(20), { a: 15, b: 20 });
	});

	test("is equal for all without a known proportion", () => {
		assert.deepEqual(new Room({ a: 0, b: 0 }).move(), { a: 50, b: 50 });
		assert.deepEqual(new Room({ a: 0, b: 0 }).move(30), { a: 30, b: 30 });
	});
});

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
