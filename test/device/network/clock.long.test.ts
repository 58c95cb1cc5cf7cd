import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { NvsStore } from "../../../hosts/virtual/node/boot/nvs-store.js";
import { buildFirmware } from "../../../hosts/virtual/node/firmware.js";
import type { VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { waitUntil } from "../../support/eventually.js";
import { runFleet } from "../../support/fleet.js";
import { powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { pass } from "../../support/virtual-time.js";

const hour = 3_600_000;
const built = Date.UTC(2026, 2, 1);
const at = (time: number) => new Date(time).toISOString();

/** Starts a device built at `built`, in a network whose time server responds with `wallClock`. */
async function start(
	t: TestContext,
	wallClock: (() => number) | undefined,
	options: Partial<VirtualDeviceOptions> = {},
) {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		buildTime: built / 1000,
		wallClock,
		...options,
	});
	/**
	 * Connection since the last power-on. The ring is dark, because each of its frames would be one step of the
	 * clock.
	 */
	const connect = async () => {
		await device.machine.ready;
		const connection = await gateway.connection();
		connection.send({ command: "set_led", value: "idle" });
		await connection.next("state_report", ({ peripherals }) => peripherals.led_ring.state_id === 0);
		return connection;
	};
	return { device, connect, connection: await connect() };
}

/** Records each time written to the settings from now on, in ms since 1970. */
function recordStored(t: TestContext): number[] {
	const stored: number[] = [];
	const { write } = NvsStore.prototype;
	t.mock.method(NvsStore.prototype, "write", function (this: NvsStore, key: string, value: string) {
		if (key === "clock") stored.push(Number(value) * 1000);
		write.call(this, key, value);
	});
	return stored;
}

function assertNear(time: number, expected: number, withinMs = 5000): void {
	assert.ok(time >= expected && time <= expected + withinMs, `${at(time)}, not ${at(expected)}`);
}

describe("stored time", () => {
	test("is written at most once an hour, even if the device keeps restarting", async (t) => {
		let now = built + 1000 * hour;
		const { device, connect } = await start(t, () => now);
		const stored = recordStored(t);
		for (let restart = 0; restart < 20; restart++) {
			await pass(device, 6 * 60_000);
			now += 6 * 60_000;
			await device.powerCycle();
			await connect();
		}
		await pass(device, 6000);
		assert.ok(stored.length >= 1 && stored.length <= 3, `${stored.length} writes in two hours`);
		stored.length = 0;
		await pass(device, 10 * hour);
		assert.ok(stored.length >= 9 && stored.length <= 11, `${stored.length} writes in ten hours`);
	});

	test("is written before a restart by the firmware", async (t) => {
		const fleet = await runFleet(t);
		const { bytes } = await buildFirmware();
		await fleet.release("1.1.0", makeVirtualImage(bytes, "DEV-1", "1.1.0"));
		const { device, deviceId, report } = await fleet.powerOn("DEV-1", { version: "1.0.0" });
		await report();
		// The first response of the time server has been stored by then.
		await waitUntil(() => device.setting("clock") !== undefined);
		const stored = recordStored(t);
		const startedAt = Math.floor(Date.now() / 1000) * 1000;
		await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
		const { timestamp } = await report((state) => state.system.firmware_version === "1.1.0");
		assertNear(stored[0] ?? 0, startedAt, Date.now() - startedAt);
		assert.ok(Date.parse(timestamp) >= startedAt, timestamp);
	});
});
