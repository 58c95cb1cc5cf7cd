import assert from "node:assert/strict";
import { test } from "node:test";
import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { powerOnInVirtualTime } from "../support/virtual-time.js";
import { usedBytes } from "./heap-use.js";

const hourMs = 3_600_000;
const reportPeriodMs = 5_000;
const reportsAnHour = hourMs / reportPeriodMs;

/** Reading of a light sensor at a window by hour of the day; undefined while its converter fails. */
function lightAt(hour: number): number | undefined {
	const isSilent = (hour >= 2 && hour < 2.5) || (hour >= 12 && hour < 12.5);
	if (isSilent) return undefined;
	if (hour < 6 || hour >= 20) return 0;
	if (hour < 7) return Math.round((hour - 6) * 4095);
	if (hour < 19) return 4095 - (Math.round(hour * 1000) % 500);
	return Math.round((20 - hour) * 4095);
}

/**
 * Advances the clock to the next periodic report. Several steps are requested ahead, because the sensors wake 30
 * times a second.
 */
async function passPeriod({ machine }: VirtualDevice): Promise<void> {
	await Promise.all(Array.from({ length: 8 }, () => machine.advance(reportPeriodMs, () => {})));
}

test("every report is valid in 24 hours of a PROTO-1 with darkness, touches and a failing converter", async (t) => {
	const { device, connection, command } = await powerOnInVirtualTime(t, "PROTO-1");
	const { board } = device;
	await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	let arrived = 0;
	connection.socket.on("message", () => {
		arrived += 1;
	});
	let periodic = 0;
	let others = 0;
	let level: number | undefined;
	let afterFirstHour = 0;
	for (let period = 0; period < 24 * reportsAnHour; period++) {
		const hour = period / reportsAnHour;
		if (Number.isInteger(hour)) {
			const value = ((hour + 1) * 17) % 101;
			await command({ command: "set_haptics", value }, (parts) => parts.haptic_intensity === value);
			others += 1;
		}
		const lightBefore = board.light;
		board.light = lightAt(hour);
		const isChange = period % 100 < 2;
		const isTouched = period % 100 === 0;
		if (isChange) board.isTouched = isTouched;
		await passPeriod(device);
		if (isChange) {
			await connection.next("state_report");
			others += 1;
		}
		const { peripherals } = await connection.next("state_report");
		periodic += 1;
		assert.equal(peripherals.touch_active, isTouched);
		// A light that has not changed for a whole period is reported exactly; one that cannot be measured keeps its
		// last value.
		if (board.light === lightBefore) assert.equal(peripherals.ambient_light, board.light ?? level);
		level = peripherals.ambient_light;
		if ((period + 1) % reportsAnHour !== 0) continue;
		assert.equal(arrived, periodic + others, `after hour ${hour}`);
		const used = usedBytes(await device.machine.statistics(true));
		afterFirstHour ||= used;
		assert.ok(used - afterFirstHour < 1024, `from ${afterFirstHour} to ${used} bytes`);
	}
	assert.equal(periodic, 17_280);
	assert.equal(connection.socket.readyState, connection.socket.OPEN);
	const { health } = await connection.query();
	assert.equal(health.uptime_seconds, 86_400);
	t.diagnostic(`${periodic} periodic reports and ${others} others, all valid`);
});
