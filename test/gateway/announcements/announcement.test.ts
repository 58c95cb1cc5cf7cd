import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Announcement } from "../../../gateway/announcements/announcement.js";
import { playStates } from "../../../gateway/api/announcement.js";
import "../../support/property-runs.js";

const at = (ms: number) => ({ now: ms, monotonic: ms });

function begin(...ids: readonly string[]) {
	const about = { id: "a1", name: null, by: null, createdAt: 0, again: () => null, request: {} };
	const announcement = new Announcement(about);
	announcement.request("/sounds/1.wav", 2_000, at(0));
	for (const id of ids) {
		announcement.parts.set(id, "waiting", at(0));
		announcement.send(id, ["sound"], at(0));
	}
	const says = (
		id: string,
		state: "ready" | "playing" | "played" | "stopped" | "failed",
		ms = 0,
		more = {},
	) => announcement.onUpdate(id, { type: "sound_update", deviceId: id, id: "a1", state, ...more }, at(ms));
	const partOf = (id: string) => announcement.parts.shown().find(({ deviceId }) => deviceId === id);
	return { announcement, says, partOf };
}

describe("announcement", () => {
	test("starts each device once when all are ready", () => {
		const { announcement, says } = begin("a", "b");
		says("a", "ready", 100);
		assert.deepEqual(announcement.starts(100), []);
		says("b", "ready", 200);
		assert.deepEqual(announcement.starts(200), ["a", "b"]);
		assert.deepEqual(announcement.starts(250), []);
		announcement.parts.set("a", "away", at(300));
		says("a", "ready", 350);
		assert.deepEqual(announcement.starts(350), ["a"], "lost start_sound");
	});

	test("waits at most 3 s, for no failed device, and reports the delay of late ones", () => {
		const { announcement, says, partOf } = begin("a", "b", "c");
		announcement.parts.set("c", "busy", at(10), "an update is under way");
		says("a", "ready", 100);
		assert.deepEqual(announcement.starts(100), []);
		assert.deepEqual(announcement.starts(3_099), []);
		assert.deepEqual(announcement.starts(3_100), ["a"]);
		says("b", "ready", 3_400);
		assert.deepEqual(announcement.starts(3_400), ["b"]);
		assert.deepEqual([partOf("a")?.lateMs, partOf("b")?.lateMs], [null, 300]);
	});

	test("ends when no device plays, including returned ones", () => {
		const { announcement, says, partOf } = begin("a", "b");
		says("a", "playing", 10);
		says("a", "played", 2_010);
		announcement.parts.set("b", "away", at(2_500), "The device has disconnected.");
		assert.equal(announcement.parts.endedAt, 2_500);
		says("b", "playing", 2_600);
		assert.equal(announcement.parts.endedAt, null);
		says("b", "failed", 2_700, { reason: "404", underruns: 2, heard_ms: 120 });
		assert.equal(announcement.parts.endedAt, 2_700);
		const { state, reason, underruns, heardMs } = partOf("b") ?? {};
		assert.deepEqual([state, reason, underruns, heardMs], ["failed", "404", 2, 120]);
	});

	test("times out silent devices after 30 s, or after twice its length while playing", () => {
		const { announcement, says } = begin("a", "b", "c");
		says("a", "playing", 1_000);
		says("c", "played", 1_000);
		announcement.expire(at(30_001));
		const { parts } = announcement;
		assert.deepEqual([parts.stateOf("a"), parts.stateOf("b")], ["playing", "failed"]);
		announcement.expire(at(35_001));
		assert.equal(announcement.parts.stateOf("a"), "failed");
		announcement.expire(at(3_600_000));
		assert.equal(announcement.parts.stateOf("c"), "played");
	});

	test("waits for no device during text-to-speech, and counts none as late for it", () => {
		const { announcement, says, partOf } = begin();
		for (const id of ["a", "b"]) announcement.parts.set(id, "preparing", at(0));
		announcement.expire(at(300_000));
		assert.deepEqual([announcement.parts.stateOf("a"), announcement.parts.endedAt], ["preparing", null]);
		announcement.request("/sounds/1.wav", 2_000, at(300_000));
		for (const id of ["a", "b"]) announcement.parts.set(id, "waiting", at(300_000));
		says("a", "ready", 300_100);
		assert.deepEqual(announcement.starts(300_100), []);
		assert.deepEqual(announcement.starts(303_100), ["a"]);
		assert.equal(partOf("a")?.lateMs, null);
	});

	test("ignores other devices", () => {
		const { announcement, says } = begin("a");
		says("b", "playing");
		assert.equal(announcement.parts.stateOf("b"), undefined);
	});

	test("counts devices in any order of changes, and reports each change once", () => {
		const change = fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom(...playStates));
		fc.assert(
			fc.property(fc.array(change), (changes) => {
				const { parts } = begin().announcement;
				for (const [device, state] of changes) parts.set(device, state, at(0));
				const states = new Map<string, (typeof playStates)[number]>(changes);
				for (const state of playStates)
					assert.equal(parts.counts[state], [...states.values()].filter((other) => other === state).length);
				const taken = parts.takeChanges();
				assert.deepEqual(new Map(taken.map(({ deviceId, state }) => [deviceId, state])), states);
				assert.deepEqual(parts.takeChanges(), []);
				const running = ["preparing", "waiting", "ready", "playing", "resumed"];
				const isRunning = [...states.values()].some((state) => running.includes(state));
				assert.equal(parts.endedAt !== null, changes.length > 0 && !isRunning);
			}),
		);
	});
});
