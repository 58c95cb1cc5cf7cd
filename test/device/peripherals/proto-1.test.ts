import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Haptics } from "../../../device/peripherals/haptics.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";
import { clock } from "../update/timer.js";

describe("haptics", () => {
	test("sets the motor's PWM in percent", async (t) => {
		const { device, command } = await powerOnInVirtualTime(t, "PROTO-1");
		const dutyAt = async (value: number) => {
			await command({ command: "set_haptics", value }, (parts) => parts.haptic_intensity === value);
			return device.board.hapticDuty;
		};
		assert.equal(device.board.hapticDuty, 0);
		for (const [value, duty] of [
			[100, 1023],
			[50, 512],
			[25, 256],
			[1, 10],
			[0, 0],
		] as const)
			assert.equal(await dutyAt(value), duty);
	});

	test("responds to a touch with one tap: a short pause, then the set intensity", async (t) => {
		const { device, command, pass, connection } = await powerOnInVirtualTime(t, "PROTO-1");
		await command({ command: "set_haptics", value: 1 }, (parts) => parts.haptic_intensity === 1);
		device.board.isTouched = true;
		await pass(50);
		assert.equal(device.board.hapticDuty, 0);
		const { peripherals } = await connection.next("state_report");
		assert.deepEqual([peripherals.touch_active, peripherals.haptic_intensity], [true, 1]);
		await pass(49);
		assert.equal(device.board.hapticDuty, 0);
		await pass(1);
		assert.equal(device.board.hapticDuty, 10);
		device.board.isTouched = false;
		for (let time = 0; time < 1000; time += 10) {
			await pass(10);
			assert.equal(device.board.hapticDuty, 10, "no tap when the finger is lifted");
		}
	});

	test("a second touch within a tap extends it", () => {
		let duty = -1;
		const part = class {
			readonly resolution = 10;
			write(value: number): void {
				duty = value;
			}
			close(): void {}
		};
		const haptics = new Haptics({ part, onChanged: () => {} });
		haptics.intensity = 100;
		const dutyAfter = (ms: number) => {
			clock.pass(ms);
			return duty;
		};
		haptics.pulse();
		assert.equal(dutyAfter(30), 0);
		haptics.pulse();
		assert.equal(dutyAfter(49), 0);
		assert.equal(dutyAfter(1), 1023);
	});

	test("ignores a touch at intensity 0", async (t) => {
		const { device, pass, connection } = await powerOnInVirtualTime(t, "PROTO-1");
		device.board.isTouched = true;
		for (let time = 0; time < 200; time += 10) {
			await pass(10);
			assert.equal(device.board.hapticDuty, 0);
		}
		const { peripherals } = await connection.next("state_report");
		assert.deepEqual([peripherals.touch_active, peripherals.haptic_intensity], [true, 0]);
	});

	test("applies a command immediately, even in the pause of a tap", async (t) => {
		const { device, command, pass } = await powerOnInVirtualTime(t, "PROTO-1");
		await command({ command: "set_haptics", value: 1 }, (parts) => parts.haptic_intensity === 1);
		device.board.isTouched = true;
		await pass(50);
		assert.equal(device.board.hapticDuty, 0);
		await command({ command: "set_haptics", value: 100 }, (parts) => parts.haptic_intensity === 100);
		assert.equal(device.board.hapticDuty, 1023);
		await pass(1000);
		assert.equal(device.board.hapticDuty, 1023);
	});

	test("starts at 0 after any intensity: a motor that starts with the board can reset it again and again", async (t) => {
		const { device, gateway, command, pass } = await powerOnInVirtualTime(t, "PROTO-1");
		await command({ command: "set_haptics", value: 80 }, (parts) => parts.haptic_intensity === 80);
		await pass(10_000);
		await device.powerCycle();
		const connection = await gateway.connection();
		assert.equal((await connection.next("state_report")).peripherals.haptic_intensity, 0);
		assert.equal(device.board.hapticDuty, 0);
	});
});

describe("ambient light", () => {
	test("is smoothed: a step shows gradually and ends at the exact value", async (t) => {
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

	test("settles at exactly the measured value, even in the dark", async (t) => {
		const { device, connection, pass, command } = await powerOnInVirtualTime(t, "PROTO-1");
		await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
		for (const value of [0, 4095, 1, 4094, 2, 3, 2047, 2048, 0]) {
			device.board.light = value;
			await pass(5000);
			assert.equal((await connection.query()).peripherals.ambient_light, value);
		}
		await device.machine.advance(10 * 60_000);
		assert.equal((await connection.query()).peripherals.ambient_light, 0);
	});

	test("reports a missing sensor after ten minutes", async (t) => {
		const { device, gateway } = await powerOnInVirtualTime(t, "PROTO-1");
		device.board.light = 0;
		await device.powerCycle();
		const connection = await gateway.connection();
		// Each frame of a lit ring would be one step of the clock.
		connection.send({ command: "set_led", value: "idle" });
		await device.machine.advance(10 * 60_000);
		const { peripherals } = await connection.query();
		assert.match(
			peripherals.ambient_light_fault ?? "",
			/^The light sensor .* may be disconnected, or the room is very dark/,
		);
	});

	test("does not change while the converter fails", async (t) => {
		const { device, connection, pass } = await powerOnInVirtualTime(t, "PROTO-1");
		device.board.light = 800;
		await pass(10_000);
		device.board.light = undefined;
		await pass(10_000);
		assert.equal((await connection.query()).peripherals.ambient_light, 800);
		device.board.light = 900;
		await pass(10_000);
		assert.equal((await connection.query()).peripherals.ambient_light, 900);
	});

	test("filters mains flicker", async (t) => {
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

	test("is detected through a housing, where a finger raises the count by 2 %", async (t) => {
		const { device, pass, isActive } = await touches(t);
		for (const [count, isTouched] of [
			[24_240, false],
			[24_480, true],
			[24_060, false],
		] as const) {
			device.board.touchCount = count;
			await pass(50);
			assert.equal(await isActive(), isTouched, String(count));
		}
	});

	test("is reported when a finger touches and when it is lifted", async (t) => {
		const { device, connection, pass } = await touches(t);
		device.board.isTouched = true;
		await pass(50);
		assert.equal((await connection.next("state_report")).peripherals.touch_active, true);
		device.board.isTouched = false;
		await pass(50);
		assert.equal((await connection.next("state_report")).peripherals.touch_active, false);
	});

	test("is distinguished from a slow drift of the pad", async (t) => {
		const { device, pass, isActive } = await touches(t);
		// 0.2 % per second; a board that warms up drifts less than that in a minute.
		for (let count = 24_000; count < 27_000; count += 5) {
			device.board.touchCount = count;
			await pass(100);
		}
		assert.equal(await isActive(), false);
		device.board.touchCount = 28_000;
		await pass(50);
		assert.equal(await isActive(), true, "a finger is still detected on the drifted pad");
	});

	test("is not detected from a count after a failed measurement", async (t) => {
		const { device, pass, isActive } = await touches(t);
		const count = device.board.touchCount;
		device.board.touchCount = 0;
		await pass(1_000);
		assert.equal(await isActive(), false);
		device.board.touchCount = count;
		await pass(1_000);
		assert.equal(await isActive(), false);
		device.board.isTouched = true;
		await pass(1_000);
		device.board.touchCount = 0;
		await pass(1_000);
		assert.equal(await isActive(), true, "the finger may still be there");
	});

	test("becomes the new baseline when it never ends, and is a fault until it ends", async (t) => {
		const { device, connection, pass, isActive } = await touches(t);
		const faultOf = async () => (await connection.query()).peripherals.touch_fault;
		device.board.isTouched = true;
		await pass(29_000);
		assert.equal(await isActive(), true);
		assert.equal(await faultOf(), undefined);
		await pass(2_000);
		assert.equal(await isActive(), false);
		assert.match((await faultOf()) ?? "", /^The touch pad is touched permanently/);
		await pass(60_000);
		assert.match((await faultOf()) ?? "", /^The touch pad is touched permanently/);
		device.board.isTouched = false;
		await pass(100);
		assert.equal(await faultOf(), undefined);
		device.board.isTouched = true;
		await pass(100);
		assert.equal(await isActive(), true, "the next touch is detected");
		assert.equal(await faultOf(), undefined);
	});

	test("reports a fault after ten seconds without a measurement, until there is one", async (t) => {
		const { device, connection, pass } = await touches(t);
		const faultOf = async () => (await connection.query()).peripherals.touch_fault;
		const { touchCount } = device.board;
		device.board.touchCount = 0;
		await pass(9_500);
		assert.equal(await faultOf(), undefined);
		await pass(1_000);
		assert.equal(await faultOf(), "The touch pad measures nothing.");
		device.board.touchCount = touchCount;
		await pass(100);
		assert.equal(await faultOf(), undefined);
	});
});
