import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StartCount } from "../../device/start-count.js";
import { clock } from "./update/timer.js";

const resetReasons = {
	crash: "SW_RESET",
	panic: "PANIC_RESET",
	"brown-out": "BROWNOUT_RESET",
	"power cut": "POWERON_RESET",
} as const;
type End = keyof typeof resetReasons;
type Run = readonly [ms: number, end: End];

const runs = (end: End, ...ms: number[]) => ms.map((runMs): Run => [runMs, end]);

/** Device whose starts end in the given ways. */
class Device {
	readonly kept = new Map<string, string>();
	writes = 0;
	#resetReason = "POWERON_RESET";

	start(isPendingVerify = false): StartCount {
		clock.clear();
		const { kept } = this;
		return new StartCount({
			store: {
				read: (key) => kept.get(key),
				write: (key, value) => {
					this.writes += 1;
					kept.set(key, value);
				},
				delete: (key) => {
					this.writes += 1;
					kept.delete(key);
				},
			},
			resetReason: this.#resetReason,
			isPendingVerify,
		});
	}

	run([ms, end]: Run): void {
		this.start();
		clock.pass(ms);
		this.#resetReason = resetReasons[end];
	}
}

function after(pastRuns: readonly Run[]): Device {
	const device = new Device();
	for (const run of pastRuns) device.run(run);
	return device;
}

describe("safe mode", () => {
	const crashes = runs("crash", 10, 10, 10);
	const cuts = runs("power cut", 10, 10);
	for (const [name, pastRuns, isSafe] of [
		["requires three crashes in a row", runs("crash", 10, 10), false],
		["starts after three crashes in a row", crashes, true],
		[
			"starts after crashes shortly before a start counts as stable",
			runs("crash", 59_999, 59_999, 59_999),
			true,
		],
		["ignores crashes before a start of 60 s", runs("crash", 10, 10, 60_000), false],
		["counts brownouts and panics", [...runs("brown-out", 10, 10), ...runs("panic", 10)], true],
		["does not start by power cuts", runs("power cut", 10, 10, 10, 10), false],
		["does not count a power cut before crashes", [...cuts, ...crashes.slice(1)], false],
		["does not count a power cut after crashes", [...crashes.slice(1), ...cuts], false],
		["counts crashes on both sides of power cuts", [...crashes.slice(1), ...cuts, ...crashes.slice(2)], true],
		["is not ended by a power cut", [...crashes, ...cuts], true],
	] as const)
		test(name, () => assert.equal(after(pastRuns).start().isSafeMode, isSafe));

	test("never starts an unconfirmed image, which is rolled back instead", () =>
		assert.equal(after(crashes).start(true).isSafeMode, false));

	test("ends after a start that reached the gateway", () => {
		const device = after(crashes);
		device.start().markStable();
		assert.equal(device.kept.size, 0);
		device.run([10, "crash"]);
		assert.equal(device.start().isSafeMode, false);
	});

	test("writes at most twice to flash per start, and not at all while it lasts", () => {
		const device = new Device();
		device.run([600_000, "power cut"]);
		assert.equal(device.writes, 2);
		for (const run of runs("crash", 10, 10, 10, 10)) device.run(run);
		device.writes = 0;
		for (const run of [...runs("crash", 59_000), ...runs("power cut", 59_000, 59_000)]) device.run(run);
		assert.deepEqual([device.writes, device.kept.get("starts")], [0, "4"]);
	});
});
