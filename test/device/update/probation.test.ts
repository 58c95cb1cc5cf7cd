import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Probation } from "../../../device/update/probation.js";
import { clock } from "./timer.js";

interface Start {
	readonly isPendingVerify: boolean;
	/** Results of successive attempts to confirm; true once they are used up. */
	readonly confirms?: boolean[];
	/** Stored codec state of the confirmed image. */
	readonly codec?: 0 | 1;
}

function begin({ isPendingVerify, confirms = [], codec }: Start) {
	const calls: string[] = [];
	const kept = new Map<string, number>(codec === undefined ? [] : [["codec", codec]]);
	const boot = {
		isPendingVerify,
		confirm: () => {
			calls.push("confirm");
			return confirms.shift() ?? true;
		},
		rollBack: () => void calls.push("roll back"),
	};
	const settings = {
		number: (name: string, _minimum: number, _maximum: number, otherwise: number) =>
			kept.get(name) ?? otherwise,
		remember: (name: string, value: number) => void kept.set(name, value),
	};
	const probation = new Probation({ boot, restart: () => void calls.push("restart") });
	return { calls, kept, probation, report: (isReady: boolean) => probation.onReported(isReady, settings) };
}

describe("new image on probation", () => {
	test("is confirmed once, by its first report", () => {
		const { calls, probation, report } = begin({ isPendingVerify: true });
		assert.equal(probation.isOn, true);
		report(true);
		report(true);
		assert.deepEqual(calls, ["confirm"]);
		assert.equal(probation.isOn, false);
		clock.pass(200_000);
		assert.deepEqual(calls, ["confirm"]);
	});

	test("is rolled back after 120 s", () => {
		const { calls } = begin({ isPendingVerify: true });
		clock.pass(119_999);
		assert.deepEqual(calls, []);
		clock.pass(2);
		assert.deepEqual(calls, ["roll back", "restart"]);
	});

	test("is confirmed by the next report if the confirmation could not be written", () => {
		const { calls, probation, report } = begin({ isPendingVerify: true, confirms: [false, true] });
		report(true);
		assert.equal(probation.isOn, true);
		report(true);
		assert.equal(probation.isOn, false);
		assert.deepEqual(calls, ["confirm", "confirm"]);
	});

	for (const [codec, isReady, isConfirmed] of [
		[1, true, true],
		[1, false, false],
		[0, true, true],
		[0, false, true],
		[undefined, true, true],
		[undefined, false, false],
	] as const) {
		const before = codec === undefined ? "unknown" : codec ? "alive" : "dead";
		const now = isReady ? "alive" : "dead";
		test(`is ${isConfirmed ? "" : "not "}confirmed when the codec was ${before} and is ${now}`, () => {
			const { calls, kept, report } = begin({
				isPendingVerify: true,
				...(codec !== undefined && { codec }),
			});
			report(isReady);
			clock.pass(200_000);
			assert.deepEqual(calls, isConfirmed ? ["confirm"] : ["roll back", "restart"]);
			assert.equal(kept.get("codec"), isConfirmed ? Number(isReady) : codec);
		});
	}
});

test("stores whether the codec responds once confirmed, and is never rolled back then", () => {
	const { calls, kept, probation, report } = begin({ isPendingVerify: false });
	assert.equal(probation.isOn, false);
	report(true);
	assert.equal(kept.get("codec"), 1);
	report(false);
	assert.equal(kept.get("codec"), 0);
	clock.pass(200_000);
	assert.deepEqual(calls, []);
});
