import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { flashSettings } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { NvsStore } from "../../../hosts/virtual/node/boot/nvs-store.js";
import type { VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { type Connection, powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { pass, passUntil } from "../../support/virtual-time.js";

const hour = 3_600_000;
const built = Date.UTC(2026, 2, 1);
const at = (time: number) => new Date(time).toISOString();

/**
 * Starts a device built at `built`, in a network whose time server responds with `wallClock`.
 * @param date header of the gateway's responses
 */
async function start(
	t: TestContext,
	wallClock: (() => number) | undefined,
	options: Partial<VirtualDeviceOptions> = {},
	date?: string,
) {
	const gateway = await runScriptedGateway(t);
	if (date !== undefined) gateway.server.on("headers", (headers) => headers.push(`Date: ${date}`));
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

/** Current time of the device's clock. */
async function read(connection: Connection): Promise<number> {
	return Date.parse((await connection.query()).timestamp);
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

describe("clock of a device without a time server", () => {
	test("starts at the image's build time", async (t) => {
		const { connection } = await start(t, undefined);
		assertNear(await read(connection), built);
	});

	test("continues after a power cut, at most an hour late", async (t) => {
		const { device, connection, connect } = await start(t, undefined);
		await read(connection);
		await pass(device, 2.5 * hour);
		const before = await read(connection);
		assertNear(before, built + 2.5 * hour);
		await device.powerCycle();
		const after = await read(await connect());
		assert.ok(after > before - hour && after <= before, `${at(after)} after ${at(before)}`);
	});

	test("starts at the build time of a newer image if that is later than the stored time", async (t) => {
		const { device, connect } = await start(t, undefined);
		flashSettings(device.flash, { clock: String((built - hour) / 1000) });
		await device.powerCycle();
		assertNear(await read(await connect()), built);
	});

	test("starts in 1970 if no time is known, and does not store it", async (t) => {
		const { device, connection } = await start(t, undefined, { buildTime: 0 });
		const stored = recordStored(t);
		assertNear(await read(connection), 0);
		await pass(device, 1.5 * hour);
		assert.deepEqual(stored, []);
	});
});

describe("time server", () => {
	for (const [direction, timeMs] of [
		["forward", built + 1000 * hour],
		["back", built - 1000 * hour],
	] as const)
		test(`sets the clock ${direction} and updates the stored time`, async (t) => {
			const { device, connection } = await start(t, () => timeMs);
			await pass(device, 6000);
			assertNear(await read(connection), timeMs, 10_000);
			assertNear(Number(device.setting("clock")) * 1000, timeMs, 10_000);
		});

	test("is queried every minute until it responds", async (t) => {
		const { device, connection } = await start(t, undefined);
		await pass(device, 10 * 60_000);
		device.board.wallClock = () => built + 1000 * hour;
		await pass(device, 61_000);
		assertNear(await read(connection), built + 1000 * hour, 70_000);
	});
});

describe("Date header of the gateway's response", () => {
	const later = built + 1000 * hour;

	test("sets the clock of the first report when no time server responds", async (t) => {
		const { connection } = await start(t, undefined, {}, new Date(later).toUTCString());
		assertNear(await read(connection), later);
	});

	for (const date of [new Date(built - 1000).toUTCString(), "Thu, 01 Jan 2150 00:00:00 GMT", "soon"])
		test(`is ignored when it is implausible: ${date}`, async (t) => {
			const { connection } = await start(t, undefined, {}, date);
			assertNear(await read(connection), built);
		});

	test("does not change the clock that a time server has set", async (t) => {
		const date = new Date(later + 5 * hour).toUTCString();
		const { device, connection, connect } = await start(t, () => later, {}, date);
		await pass(device, 6000);
		assertNear(await read(connection), later, 10_000);
		connection.socket.terminate();
		await passUntil(device, connection.closed);
		assertNear(await read(await passUntil(device, connect())), later, 60_000);
	});
});
