import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { moveVolumes, type Volumes } from "../../../gateway/dashboard/page/model/volumes.js";

/** Room whose devices report each set value. */
class Room {
	volumes: Volumes;
	#moves: readonly Volumes[] = [];

	constructor(volumes: Readonly<Record<string, number>>) {
		this.volumes = new Map(Object.entries(volumes));
	}

	move(to: number): Readonly<Record<string, number>> {
		this.#moves = moveVolumes(this.#moves, this.volumes, to);
		this.volumes = this.#moves.at(-1) ?? new Map();
		return Object.fromEntries(this.volumes);
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

	test("starts from the latest set volume, not from a late report", () => {
		const room = new Room({ a: 20, b: 40 });
		room.move(20);
		room.volumes = new Map(Object.entries({ a: 10, b: 40 }));
		assert.deepEqual(room.move(40), { a: 20, b: 40 });
		room.volumes = new Map(Object.entries({ a: 30, b: 40 }));
		assert.deepEqual(room.move(20), { a: 15, b: 20 });
	});

	test("is equal for all without a known proportion", () => {
		assert.deepEqual(new Room({ a: 0, b: 0 }).move(30), { a: 30, b: 30 });
	});
});
