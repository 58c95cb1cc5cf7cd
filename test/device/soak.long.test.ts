import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOnInVirtualTime } from "../support/virtual-time.js";
import { usedBytes } from "./heap-use.js";

const hourMs = 3_600_000;
const reportPeriodMs = 5_000;

test("the heap of a PROTO-1 does not grow after the first hour of 24 hours and 20,000 commands", async (t) => {
	const { device, connection, pass } = await powerOnInVirtualTime(t, "PROTO-1");
	const { board } = device;
	let reports = 0;
	connection.socket.on("message", (data) => {
		reports += Number(String(data).startsWith('{"type":"state_report"'));
	});
	let count = 0;
	const commandsFor = (hour: number) => {
		const value = (hour * 834 + count) % 101;
		count += 1;
		switch (count % 8) {
			case 0:
				return { command: "play_audio", value: "wifi_connected" };
			case 1:
				return { command: "set_brightness", value: value / 100 };
			case 2:
				return { command: "query_state" };
			case 3:
				return { command: "set_volume", value: 101 + value };
			case 4:
				return { command: "set_led", value: "updating" };
			case 5:
				return { command: "set_led", value: "idle" };
			case 6:
				return { command: "set_haptics", value };
			default:
				return { command: "set_volume", value };
		}
	};
	let afterFirstHour = 0;
	let highest = 0;
	for (let hour = 1; hour <= 24; hour++) {
		for (let index = 0; index < 834; index++) connection.send(commandsFor(hour));
		connection.send({ command: "set_led", value: "idle" });
		// Darkness, and a converter that fails.
		board.light = [hour * 170, 0, undefined][hour % 3];
		board.isTouched = hour % 2 === 0;
		await connection.query();
		const before = reports;
		await pass(hourMs);
		assert.ok(reports - before >= hourMs / reportPeriodMs - 1, `${reports - before} reports in an hour`);
		const used = usedBytes(await device.machine.statistics(true));
		if (hour === 1) afterFirstHour = used;
		highest = Math.max(highest, used);
		// One or two buffers in use; a leak of one slot per command would be 13 KB an hour.
		assert.ok(used - afterFirstHour < 1024, `from ${afterFirstHour} to ${used} bytes in ${hour} hours`);
		assert.equal(connection.socket.readyState, connection.socket.OPEN, `hour ${hour}`);
	}
	const end = await device.machine.statistics();
	assert.ok(count >= 20_000, `only ${count} commands`);
	t.diagnostic(
		`${count} commands; heap after the first hour ${afterFirstHour} bytes, then at most ${highest}; ` +
			`stack at most ${end.stackPeak} of ${end.stackSlots} slots; ${end.collections} collections`,
	);
	const { health } = await connection.query();
	assert.equal(Math.floor(health.uptime_seconds / 3600), 24);
});
