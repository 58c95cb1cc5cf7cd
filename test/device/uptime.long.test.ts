import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOnInVirtualTime } from "../support/virtual-time.js";

const hourMs = 3_600_000;

test("keeps correct uptime and timers after 25 days, when a board's 32-bit tick has wrapped", async (t) => {
	const { device, connection, command } = await powerOnInVirtualTime(t, "DEV-1");
	await command({ command: "set_led", value: "idle" }, ({ led_ring }) => led_ring.state_id === 0);
	for (let day = 1; day <= 25; day++) {
		await device.machine.advance(24 * hourMs);
		const { health } = await connection.query();
		assert.equal(Math.floor(health.uptime_seconds / 86_400), day);
	}
});
