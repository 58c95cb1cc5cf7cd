/** Haptics and touch of a PROTO-1: their rules in Node, and a touch of the firmware in XS. */

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Haptics } from "../../../device/peripherals/haptics.js";
import { Touch } from "../../../device/peripherals/touch.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";
import { clock } from "../update/timer.js";

beforeEach(() => clock.clear());

test("a touch is reported and felt, the light is reported, and a power cut resets the intensity", async (t) => {
	const { device, gateway, connection, command, pass } = await powerOnInVirtualTime(t, "PROTO-1");
	const { board } = device;
	await command({ command: "set_haptics", value: 50 }, (parts) => parts.haptic_intensity === 50);
	assert.equal(board.hapticDuty, 512);
	board.isTouched = true;
	await pass(50);
	assert.equal(board.hapticDuty, 0);
	const { peripherals } = await connection.next("state_report");
	assert.deepEqual([peripherals.touch_active, peripherals.haptic_intensity], [true, 50]);
	board.isTouched = false;
	await pass(50);
	assert.equal((await connection.next("state_report")).peripherals.touch_active, false);
	assert.equal(board.hapticDuty, 512);

	board.light = 4095;
	await pass(10_000);
	assert.equal((await connection.query()).peripherals.ambient_light, 4095);

	await device.powerCycle();
	const again = await (await gateway.connection()).next("state_report");
	// A motor that starts with the board can reset it again and again.
	assert.deepEqual([again.peripherals.haptic_intensity, board.hapticDuty], [0, 0]);
});

describe("haptics", () => {
	function start() {
		const motor = { duty: -1, changes: 0 };
		const haptics = new Haptics({
			part: class {
				readonly resolution = 10;
				write(value: number): void {
					motor.duty = value;
				}
				close(): void {}
			},
			onChanged: () => {
				motor.changes += 1;
			},
		});
		const dutyAfter = (ms: number) => {
			clock.pass(ms);
			return motor.duty;
		};
		return { haptics, motor, dutyAfter };
	}

	test("sets the motor's PWM in percent, and reports a change once", () => {
		const { haptics, motor } = start();
		assert.equal(motor.duty, 0);
		for (const [percent, duty] of [
			[100, 1023],
			[50, 512],
			[1, 10],
			[0, 0],
		] as const) {
			haptics.intensity = percent;
			haptics.intensity = percent;
			assert.equal(motor.duty, duty);
		}
		assert.equal(motor.changes, 4);
	});

	test("responds to a touch with a pause of 50 ms, which a second touch extends", () => {
		const { haptics, dutyAfter } = start();
		haptics.intensity = 100;
		haptics.pulse();
		assert.equal(dutyAfter(30), 0);
		haptics.pulse();
		assert.equal(dutyAfter(49), 0);
		assert.equal(dutyAfter(1), 1023);
		assert.equal(dutyAfter(1000), 1023);
	});

	test("ignores a touch at intensity 0, and applies a command even in the pause", () => {
		const { haptics, dutyAfter } = start();
		haptics.pulse();
		assert.deepEqual([dutyAfter(200), clock.pending], [0, 0]);
		haptics.intensity = 1;
		haptics.pulse();
		haptics.intensity = 100;
		assert.equal(dutyAfter(0), 1023);
	});
});

describe("touch", () => {
	const untouched = 24_000;
	const finger = 31_000;

	function start() {
		const pad = { count: untouched };
		const changes: boolean[] = [];
		const touch = new Touch({
			part: class {
				readonly threshold = 0.015;
				read(): number {
					return pad.count;
				}
				close(): void {}
			},
			onChanged: (isActive) => changes.push(isActive),
		});
		/** Measures a count for some time. @returns whether the pad counts as touched */
		const isTouchedAfter = (ms: number, count = pad.count) => {
			pad.count = count;
			clock.pass(ms);
			return touch.isActive;
		};
		return { touch, changes, isTouchedAfter };
	}

	test("is detected through a housing, where a finger raises the count by 2 %, and when it is lifted", () => {
		const { changes, isTouchedAfter } = start();
		assert.equal(isTouchedAfter(50, 24_240), false);
		assert.equal(isTouchedAfter(50, 24_480), true);
		assert.equal(isTouchedAfter(50, 24_060), false);
		assert.deepEqual(changes, [true, false]);
	});

	test("is distinguished from a slow drift of the pad", () => {
		const { isTouchedAfter } = start();
		// 0.2 % per second; a board that warms up drifts less than that in a minute.
		for (let count = untouched; count < 27_000; count += 5) assert.equal(isTouchedAfter(100, count), false);
		assert.equal(isTouchedAfter(50, 28_000), true, "a finger is still detected on the drifted pad");
	});

	test("is not detected from a count after a failed measurement", () => {
		const { isTouchedAfter } = start();
		assert.equal(isTouchedAfter(1_000, 0), false);
		assert.equal(isTouchedAfter(1_000, untouched), false);
		assert.equal(isTouchedAfter(1_000, finger), true);
		assert.equal(isTouchedAfter(1_000, 0), true, "the finger may still be there");
	});

	test("becomes the new baseline after 30 s, and is a fault until it ends", () => {
		const { touch, isTouchedAfter } = start();
		assert.equal(isTouchedAfter(29_950, finger), true);
		assert.equal(touch.fault, undefined);
		assert.equal(isTouchedAfter(100), false);
		for (const ms of [0, 60_000]) {
			isTouchedAfter(ms);
			assert.match(touch.fault ?? "", /^The touch pad is touched permanently/);
		}
		assert.equal(isTouchedAfter(100, untouched), false);
		assert.equal(touch.fault, undefined);
		assert.equal(isTouchedAfter(100, finger), true, "the next touch is detected");
		assert.equal(touch.fault, undefined);
	});

	test("reports a fault after ten seconds without a measurement, until there is one", () => {
		const { touch, isTouchedAfter } = start();
		isTouchedAfter(9_950, 0);
		assert.equal(touch.fault, undefined);
		isTouchedAfter(50);
		assert.equal(touch.fault, "The touch pad measures nothing.");
		isTouchedAfter(50, untouched);
		assert.equal(touch.fault, undefined);
	});
});
