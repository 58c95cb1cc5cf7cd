/** Quiet hours sent to devices, on a test clock. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, waitUntil } from "../../support/eventually.js";
import { temporaryDirectory } from "../../support/running.js";
import { ask, ofFleet, type QuietDevice, quietHoursOf, runTimed, type Timed, utc } from "./gateway.js";

const nights = { targets: { all: true }, from: "22:00", until: "07:00", volume: 20 };

/** Resolves with the latest quiet hours sent to a device, after this number. */
async function sent(device: QuietDevice, count: number) {
	await waitUntil(() => device.quiet.length >= count);
	assert.equal(device.quiet.length, count);
	const value: {
		readonly id: string;
		readonly periods: readonly { readonly from: number; readonly until: number }[];
		readonly [name: string]: unknown;
	} | null = JSON.parse(JSON.stringify(device.quiet.at(-1)));
	return value;
}

const hoursOf = (periods: readonly { readonly from: number; readonly until: number }[] = []) =>
	periods.map(({ from, until }) => (until - from) / 3600);

/** Reports that show the current quiet hours trigger no command. */
async function staysQuiet(gateway: Timed, device: QuietDevice, count: number): Promise<void> {
	device.report();
	device.report();
	const monitor = await gateway.monitor();
	await monitor.request({
		type: "control_device",
		targetId: device.deviceId,
		payload: { command: "identify" },
	});
	monitor.socket.terminate();
	// Arrives after any command triggered by the reports.
	await waitUntil(() => device.commands.some(({ command }) => command === "identify"));
	device.commands.length = 0;
	assert.equal(device.quiet.length, count);
}

describe("quiet hours", () => {
	test("are sent once as periods of two weeks, and again in the next session if lost", async (t) => {
		const gateway = await runTimed(t, "2026-11-27T12:00:00Z");
		const { url } = gateway;
		const device = await gateway.connect();
		const { status, body } = await ask(url, "PUT", "quiet-hours", {
			...nights,
			brightness: 0.1,
			onlyUrgent: true,
		});
		const { id, changedAt, ...rest } = body;
		const shown = { on: true, zone: "Europe/Berlin", by: "monitor", holdsUntil: null };
		assert.deepEqual([status, rest], [200, { ...nights, brightness: 0.1, onlyUrgent: true, ...shown }]);
		const value = await sent(device, 1);
		const { id: digest, periods, ...limits } = value ?? { id: "" };
		assert.match(digest, /^[0-9a-f]{16}$/);
		assert.deepEqual(limits, { volume: 20, brightness: 0.1, only_urgent: true });
		// From midnight UTC today to two weeks later.
		const [first] = periods ?? [];
		assert.deepEqual(first, {
			from: utc("2026-11-26T21:00Z") / 1000,
			until: utc("2026-11-27T06:00Z") / 1000,
		});
		assert.deepEqual(hoursOf(periods), Array(15).fill(9));
		await staysQuiet(gateway, device, 1);
		await device.restart();
		await staysQuiet(gateway, device, 1);
		device.set({ quiet: undefined });
		await device.restart();
		assert.deepEqual(await sent(device, 2), value);
	});

	test("are an hour shorter or longer when clocks change", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-03-20T12:00:00Z");
		const device = await connect();
		await ask(url, "PUT", "quiet-hours", nights);
		const spring = await sent(device, 1);
		assert.deepEqual(hoursOf(spring?.periods), [9, 9, 9, 9, 9, 9, 9, 9, 9, 8, 9, 9, 9, 9, 9]);
		clock.set("2026-10-20T12:00:00Z");
		const autumn = await sent(device, 2);
		assert.deepEqual(hoursOf(autumn?.periods), [9, 9, 9, 9, 9, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
		const ends = autumn?.periods.slice(4, 6).map(({ until }) => new Date(until * 1000).toISOString());
		assert.deepEqual(ends, ["2026-10-24T05:00:00.000Z", "2026-10-25T06:00:00.000Z"]);
	});

	test("of a day hold across clock changes", async (t) => {
		const { url, clock } = await runTimed(t, "2026-03-28T20:59:00Z");
		await ask(url, "PUT", "quiet-hours", nights);
		const holds = async () => (await quietHoursOf(url))[0]?.holdsUntil;
		const days = [
			["2026-03-28T20:59:00Z", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00.000Z"],
			["2026-10-24T19:59:00Z", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00.000Z"],
		] as const;
		for (const [before, begin, end] of days) {
			clock.set(before);
			assert.equal(await holds(), null);
			clock.set(begin);
			assert.equal(await holds(), end);
			clock.set(new Date(utc(end) - 60_000).toISOString());
			assert.equal(await holds(), end);
			clock.set(end);
			assert.equal(await holds(), null);
		}
	});

	test("are extended daily to two weeks", async (t) => {
		const { url, clock, connect } = await runTimed(t, "2026-11-27T23:59:00Z");
		const device = await connect();
		await ask(url, "PUT", "quiet-hours", nights);
		await sent(device, 1);
		clock.set("2026-11-28T00:00:00Z");
		const next = await sent(device, 2);
		assert.equal(next?.periods.at(-1)?.from, utc("2026-12-11T21:00Z") / 1000);
	});

	test("of a device override its room, and these the home; disabled ones are empty", ofFleet, async (t) => {
		const { url, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const [one, two] = [await connect("dev-1-000001"), await connect("dev-1-000002")];
		const label = (room: string, { deviceId } = one) => ask(url, "PATCH", `devices/${deviceId}`, { room });
		const volumes = async (counts: readonly [number, number]) =>
			[await sent(one, counts[0]), await sent(two, counts[1])].map((value) => value?.volume ?? null);
		await label("Kitchen");
		await label("Hall", two);
		await ask(url, "PUT", "quiet-hours", nights);
		assert.deepEqual(await volumes([1, 1]), [20, 20]);
		await ask(url, "PUT", "quiet-hours", { ...nights, targets: { room: "Kitchen" }, volume: 30 });
		assert.deepEqual(await volumes([2, 1]), [30, 20]);
		await label("Hall");
		assert.deepEqual(await volumes([3, 1]), [20, 20]);
		await label("Kitchen");
		assert.deepEqual(await volumes([4, 1]), [30, 20]);
		const own = { ...nights, targets: { device: "dev-1-000001" }, volume: 40 };
		await ask(url, "PUT", "quiet-hours", own);
		assert.deepEqual(await volumes([5, 1]), [40, 20]);
		await ask(url, "PUT", "quiet-hours", { ...own, on: false });
		assert.deepEqual(await volumes([6, 1]), [null, 20]);
		const listed = await quietHoursOf(url);
		assert.deepEqual(
			listed.map(({ targets, on }) => [targets, on]),
			[
				[{ all: true }, true],
				[{ room: "Kitchen" }, true],
				[{ device: "dev-1-000001" }, false],
			],
		);
		for (const { id } of listed.slice(1))
			assert.equal((await ask(url, "DELETE", `quiet-hours/${id}`)).status, 204);
		assert.deepEqual(await volumes([7, 1]), [20, 20]);
		await ask(url, "DELETE", `quiet-hours/${listed[0]?.id}`);
		assert.deepEqual(await volumes([8, 2]), [null, null]);
	});

	test("persist across a restart, and are removed from a device if unknown to the gateway", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir });
		const device = await first.connect();
		await ask(first.url, "PUT", "quiet-hours", nights);
		const value = await sent(device, 1);
		const before = await quietHoursOf(first.url);
		await first.gateway.close();
		const second = await runTimed(t, "2026-11-27T12:10:00Z", { dataDir });
		assert.deepEqual(await quietHoursOf(second.url), before);
		assert.deepEqual(await sent(await second.connect(), 1), value);
		const other = await runTimed(t, "2026-11-27T12:10:00Z");
		const taught = await other.connect();
		taught.set({ quiet: { id: "0123456789abcdef" } });
		await taught.restart();
		assert.equal(await sent(taught, 1), null);
	});

	test("of a room follow its new name without interruption, unless that has its own", ofFleet, async (t) => {
		const gateway = await runTimed(t, "2026-11-27T12:00:00Z");
		const { url } = gateway;
		const [one, two] = [await gateway.connect(), await gateway.connect("dev-1-000002")];
		const label = ({ deviceId }: QuietDevice, room: string) =>
			ask(url, "PATCH", `devices/${deviceId}`, { room });
		const limit = (room: string, volume: number) =>
			ask(url, "PUT", "quiet-hours", { ...nights, targets: { room }, volume });
		const listed = async () => (await quietHoursOf(url)).map(({ targets, volume }) => [targets.room, volume]);
		await label(two, "Hall");
		await limit("Hall", 30);
		await label(two, "");
		await label(one, "Kitchen");
		await limit("Kitchen", 20);
		await sent(one, 1);
		await label(one, "Lounge");
		const rooms = await eventually(listed, ({ length }) => length === 2);
		assert.deepEqual(rooms, [
			["Hall", 30],
			["Lounge", 20],
		]);
		await staysQuiet(gateway, one, 1);
		await label(one, "Hall");
		assert.equal((await sent(one, 2))?.volume, 30);
		assert.deepEqual(await listed(), rooms);
	});

	test("are sent again after a start in another time zone", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runTimed(t, "2026-11-27T12:00:00Z", { dataDir, timeZone: "UTC" });
		await ask(first.url, "PUT", "quiet-hours", nights);
		await first.gateway.close();
		const { url, connect } = await runTimed(t, "2026-11-27T12:10:00Z", { dataDir });
		const value = await sent(await connect(), 1);
		assert.equal(value?.periods[1]?.from, utc("2026-11-27T21:00Z") / 1000);
		assert.equal((await quietHoursOf(url))[0]?.zone, "Europe/Berlin");
	});

	test("are resent to a busy device after its next report, and never to older firmware", async (t) => {
		const { url, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const device = await connect();
		const old = await connect("dev-1-000002", ["sound"]);
		await ask(url, "PUT", "quiet-hours", nights);
		await sent(device, 1);
		device.refuse("set_quiet", "the device is being updated; try again after it");
		device.set({ quiet: undefined });
		device.report();
		await sent(device, 2);
		assert.deepEqual(old.quiet, []);
	});

	test("of a device are removed when it is forgotten", ofFleet, async (t) => {
		const { url, connect } = await runTimed(t, "2026-11-27T12:00:00Z");
		const device = await connect();
		await ask(url, "PUT", "quiet-hours", { ...nights, targets: { device: device.deviceId } });
		await sent(device, 1);
		device.close();
		const isGone = async () => (await ask(url, "DELETE", `devices/${device.deviceId}`)).status === 204;
		await waitUntil(isGone);
		assert.deepEqual(await quietHoursOf(url), []);
	});
});
