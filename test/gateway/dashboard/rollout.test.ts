import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OtaMetadata, OtaStatus } from "../../../gateway/dashboard/page/model/messages.js";
import {
	asked,
	begun,
	cancel,
	count,
	heard,
	isOver,
	isStopped,
	nextKeys,
	overallPercent,
	planRollout,
	type Rollout,
	refused,
	unanswered,
} from "../../../gateway/dashboard/page/model/rollout.js";

const keys = ["a", "b", "c", "d", "e"];

function plan(change: Partial<Parameters<typeof planRollout>[0]> = {}): Rollout {
	return planRollout({ selector: "1.4.0", keys, atATime: 2, stopAfter: 2, ...change });
}

function stands(
	otaStatus: OtaStatus,
	otaPercent: number | null = null,
	otaReason: string | null = null,
): OtaMetadata {
	return { otaStatus, otaPercent, otaVersion: "1.4.0", otaReason };
}

/** Begins all that may begin now. */
function beginNext(rollout: Rollout): Rollout {
	return nextKeys(rollout).reduce((state, key) => begun(asked(state, key), key), rollout);
}

function statuses({ items }: Rollout): string {
	return items.map(({ key, status }) => `${key} ${status}`).join(", ");
}

describe("a roll-out", () => {
	test("updates a few at a time, the next when one has ended", () => {
		let rollout = plan();
		assert.deepEqual(nextKeys(rollout), ["a", "b"]);
		rollout = asked(rollout, "a");
		assert.deepEqual(nextKeys(rollout), ["b"], "one that is asked for takes a place");
		rollout = beginNext(begun(rollout, "a"));
		assert.deepEqual(nextKeys(rollout), []);
		rollout = heard(rollout, "a", stands("downloading", 40));
		assert.deepEqual(nextKeys(rollout), []);
		rollout = heard(rollout, "a", stands("updated", 100));
		assert.deepEqual(nextKeys(rollout), ["c"]);
	});

	test("is over when every device has ended", () => {
		let rollout = plan();
		while (!isOver(rollout)) {
			rollout = beginNext(rollout);
			for (const key of keys) rollout = heard(rollout, key, stands("updated", 100));
		}
		assert.equal(count(rollout, "updated"), 5);
		assert.equal(overallPercent(rollout), 100);
		assert.equal(isStopped(rollout), false);
	});

	test("updates a device once, even if it is named repeatedly", () => {
		assert.deepEqual(nextKeys(plan({ keys: ["a", "a"] })), ["a"]);
	});

	for (const ending of ["failed", "rolled_back"] as const)
		test(`begins no other after the allowed number have ${ending}`, () => {
			let rollout = beginNext(plan());
			rollout = heard(rollout, "a", stands(ending, 50, "it broke"));
			assert.equal(isStopped(rollout), false);
			rollout = beginNext(rollout);
			rollout = heard(rollout, "b", stands(ending, 50, "it broke"));
			assert.equal(isStopped(rollout), true);
			assert.deepEqual(nextKeys(rollout), []);
			assert.equal(
				statuses(rollout),
				`a ${ending}, b ${ending}, c running, d cancelled, e cancelled`,
				"what has begun goes on",
			);
			assert.equal(rollout.items[0]?.reason, "it broke");
			assert.match(rollout.items[3]?.reason ?? "", /2 updates failed/);
			assert.equal(isOver(heard(rollout, "c", stands("updated"))), true);
		});

	test("does not count a refusal by the gateway as a failure, and continues", () => {
		let rollout = plan({ stopAfter: 1 });
		for (const key of keys) rollout = refused(asked(rollout, key), key, "it has no image for a DEV-1");
		assert.equal(isStopped(rollout), false);
		assert.equal(isOver(rollout), true);
		assert.equal(rollout.items[0]?.reason, "it has no image for a DEV-1");
	});

	test("cancels what has not begun, and nothing else", () => {
		const rollout = cancel(asked(beginNext(plan({ atATime: 1 })), "b"));
		assert.equal(statuses(rollout), "a running, b asked, c cancelled, d cancelled, e cancelled");
		assert.deepEqual(nextKeys(rollout), []);
		assert.equal(cancel(rollout), rollout);
	});

	test("does not wait for a device that was forgotten", () => {
		const rollout = heard(beginNext(plan({ stopAfter: 1 })), "a", undefined);
		assert.equal(statuses(rollout), "a failed, b running, c cancelled, d cancelled, e cancelled");
		assert.match(rollout.items[0]?.reason ?? "", /forgotten/);
		assert.equal(heard(plan(), "a", undefined).items[0]?.status, "waiting");
	});

	test("handles changes of a device only while it takes part", () => {
		const rollout = asked(plan(), "a");
		const previous = heard(rollout, "a", stands("failed", null, "the update before this one"));
		assert.equal(previous, rollout, "asked, but not begun");
		assert.equal(heard(rollout, "c", stands("failed")), rollout, "waiting");
		assert.equal(heard(rollout, "x", stands("failed")), rollout, "no part of it");
		const done = heard(begun(rollout, "a"), "a", stands("updated"));
		assert.equal(heard(done, "a", stands("downloading", 3)), done, "an update by another monitor");
	});

	test("shows no progress that goes backward", () => {
		let rollout = beginNext(plan());
		const shown: number[] = [];
		for (const percent of [10, 60, 30, null, 59, 61]) {
			rollout = heard(rollout, "a", stands("downloading", percent));
			shown.push(rollout.items[0]?.percent ?? -1);
		}
		assert.deepEqual(shown, [10, 60, 60, 60, 60, 61]);
		const before = overallPercent(rollout);
		rollout = heard(rollout, "a", stands("failed"));
		assert.ok(overallPercent(rollout) >= before, "not even by a failure");
	});

	test("repeats a request without an answer, unless the device is updating already", () => {
		const rollout = asked(asked(plan(), "a"), "b");
		const settled = unanswered(unanswered(rollout, "a", stands("downloading", 5)), "b", stands("idle"));
		assert.equal(statuses(settled), "a running, b waiting, c waiting, d waiting, e waiting");
		assert.deepEqual(nextKeys(settled), ["b"]);
	});
});
