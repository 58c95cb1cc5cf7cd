import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { powerOnInVirtualTime } from "../virtual-time.js";

describe("haptics", () => {
	test("drive the motor on a curve that it feels: off, or above the power at which it turns", async (t) => {
		const { device, command } = await powerOnInVirtualTime(t, "PROTO-1");
		const dutyAt = async (value: number) => {
			await command({ command: "set_haptics", value }, (parts) => parts.haptic_intensity === value);
			return device.board.hapticDuty;
		};
		assert.equal(device.board.hapticDuty, 0);
		assert.equal(await dutyAt(100), 1023);
		assert.equal(await dutyAt(1), 263);
		let duty = 263;
		for (const value of [2, 10, 50, 99]) {
			const next = await dutyAt(value);
			assert.ok(next > duty && next < 1023, `${next}`);
			duty = next;
		}
		assert.equal(await dutyAt(0), 0);
	});

	test("answer a touch with one tap, and go back to what they were", async (t) => {
		const { device, command, pass, connection } = await powerOnInVirtualTime(t, "PROTO-1");
		await command({ command: "set_haptics", value: 1 }, (parts) => parts.haptic_intensity === 1);
		device.board.isTouched = true;
		await pass(50);
		assert.equal(device.board.hapticDuty, 1023);
		const { peripherals } = await connection.next("state_report");
		assert.deepEqual([peripherals.touch_active, peripherals.haptic_intensity], [true, 1]);
		await pass(49);
		assert.equal(device.board.hapticDuty, 1023);
		await pass(1);
		assert.equal(device.board.hapticDuty, 263);
		device.board.isTouched = false;
		await pass(1000);
		assert.equal(device.board.hapticDuty, 263, "none when the finger goes");
	});
});

describe("ambient light", () => {
	test("is smoothed: a step shows by and by, and exactly in the end", async (t) => {
		const { device, connection, pass } = await powerOnInVirtualTime(t, "PROTO-1");
		const level = async () => {
			return (await connection.query()).peripherals.ambient_light ?? -1;
		};
		device.board.light = 0;
		await pass(5000);
		assert.equal(await level(), 0);
		device.board.light = 4095;
		await pass(200);
		const early = await level();
		assert.ok(early > 0 && early < 4095 / 2, `${early}`);
		await pass(300);
		const later = await level();
		assert.ok(later > (4095 * 3) / 4, `${later}`);
		await pass(10_000);
		assert.equal(await level(), 4095);
	});

	test("hides the flicker of lamps on mains", async (t) => {
		const { device, connection, pass } = await powerOnInVirtualTime(t, "PROTO-1");
		for (let second = 0; second < 20; second++) {
			device.board.light = second % 2 ? 2200 : 1800;
			await pass(100);
		}
		const { peripherals } = await connection.query();
		const level = peripherals.ambient_light ?? 0;
		assert.ok(Math.abs(level - 2000) < 60, `${level}`);
	});
});

describe("touch", () => {
	const touches = async (t: Parameters<typeof powerOnInVirtualTime>[0]) => {
		const timed = await powerOnInVirtualTime(t, "PROTO-1");
		const isActive = async () => {
			return (await timed.connection.query()).peripherals.touch_active;
		};
		return { ...timed, isActive };
	};

	test("is reported when a finger comes and when it goes", async (t) => {
		const { device, connection, pass } = await touches(t);
		device.board.isTouched = true;
		await pass(50);
		assert.equal((await connection.next("state_report")).peripherals.touch_active, true);
		device.board.isTouched = false;
		await pass(50);
		assert.equal((await connection.next("state_report")).peripherals.touch_active, false);
	});

	test("is not mistaken for a slow drift of the pad", async (t) => {
		const { device, pass, isActive } = await touches(t);
		for (let count = 24_000; count < 30_000; count += 20) {
			device.board.touchCount = count;
			await pass(100);
		}
		assert.equal(await isActive(), false);
		device.board.touchCount = 36_000;
		await pass(50);
		assert.equal(await isActive(), true, "a finger still counts on the drifted pad");
	});

	test("that never ends is a new environment", async (t) => {
		const { device, pass, isActive } = await touches(t);
		device.board.isTouched = true;
		await pass(29_000);
		assert.equal(await isActive(), true);
		await pass(2_000);
		assert.equal(await isActive(), false);
	});
});
