/** Quiet hours sent to devices, in virtual time. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { QuietHoursRequest } from "../../../gateway/api/quiet-hours.js";
import { createBase } from "../../../gateway/base.js";
import type { RequestError } from "../../../gateway/problem.js";
import { QuietHoursStore } from "../../../gateway/schedules/quiet-hours.js";
import type { Session } from "../../../gateway/sessions/device.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { changingDisk, systemError } from "../../support/disk.js";
import { makeSessions } from "../../support/record-stubs.js";
import { berlin, Clock } from "./run.js";

const noon = "2026-11-27T12:00:00Z";
const id = "dev-1-000001";
const nights = { targets: { all: true }, from: "22:00", until: "07:00", volume: 20 };

interface Sent {
	readonly id: string;
	readonly periods: readonly { readonly from: number; readonly until: number }[];
	readonly volume?: number;
}

async function run(t: TestContext, time: string, { zone = berlin, dataDir = "", disk = fs } = {}) {
	const clock = new Clock(time);
	const { now, monotonic } = clock;
	const folder = dataDir || (await temporaryDirectory(t));
	const base = createBase({ log: createLog("silent"), dataDir: folder, disk, now, monotonic });
	const { events, sessions, open } = makeSessions({ now, monotonic });
	/** Values sent to each device, by session. */
	const sent = new Map<string, (Sent | null)[]>();
	const execute = async (message: unknown) => {
		const { targetId, payload } = Object(message);
		sent.get(targetId)?.push(payload.value);
		return { sessionId: targetId, command: "control_device" } as const;
	};
	const store = new QuietHoursStore({ ...base, events, sessions, execute }, zone);
	events.on(store.listeners);
	await store.open();
	const close = () => {
		store.close();
		return base.closeRecords();
	};
	onEnd(t, close);
	const report = (session: Session, quiet?: string) => {
		const deviceId = session.device?.deviceId ?? "";
		const uplink = { ...sampleReport("DEV-1"), deviceId, ...(quiet && { quiet: { id: quiet } }) };
		sessions.receive(session, uplink, Buffer.from(JSON.stringify(uplink)));
	};
	/** Opens a session, which reports the id of its quiet hours. @returns the values sent in it */
	const connect = (deviceId = id, quiet?: string, features: readonly "quiet"[] = ["quiet"]) => {
		const session = open(deviceId, { features });
		const values: (Sent | null)[] = [];
		sent.set(session.sessionId, values);
		report(session, quiet);
		return { session, values };
	};
	const label = (deviceId: string, room: string) => {
		const device = sessions.devices.get(deviceId);
		assert.ok(device, `${deviceId} is unknown`);
		device.label = { room };
		sessions.announce(device.session, "labelled");
	};
	const set = (request: QuietHoursRequest) => store.set(request, "anna");
	return { clock, sessions, store, close, dataDir: folder, connect, report, label, set };
}

const hoursOf = (sent: Sent | null | undefined) =>
	sent?.periods.map(({ from, until }) => (until - from) / 3600);
const utc = (text: string) => Date.parse(text) / 1000;
const nine = (count: number) => Array<number>(count).fill(9);

describe("quiet hours", () => {
	test("are sent once as periods of two weeks, and again in the next session if lost", async (t) => {
		const { connect, report, set } = await run(t, noon);
		const first = connect();
		const { id: _, ...shown } = await set({ ...nights, brightness: 0.1, onlyUrgent: true });
		const rest = {
			on: true,
			zone: berlin,
			by: "anna",
			changedAt: "2026-11-27T12:00:00.000Z",
			holdsUntil: null,
		};
		assert.deepEqual(shown, { ...nights, brightness: 0.1, onlyUrgent: true, ...rest });
		const [value] = first.values;
		assert.ok(value, "none sent");
		const { id: digest, periods, ...limits } = value;
		assert.match(digest, /^[0-9a-f]{16}$/);
		assert.deepEqual(limits, { volume: 20, brightness: 0.1, only_urgent: true });
		// From midnight UTC today to two weeks later.
		assert.deepEqual(periods[0], { from: utc("2026-11-26T21:00Z"), until: utc("2026-11-27T06:00Z") });
		assert.deepEqual(hoursOf(value), nine(15));
		report(first.session, digest);
		assert.deepEqual([first.values.length, connect(id, digest).values], [1, []]);
		assert.deepEqual(connect().values, [value]);
	});

	test("are extended daily, an hour shorter or longer when clocks change", async (t) => {
		const { clock, store, connect, set } = await run(t, "2026-03-20T23:59:59Z");
		const { values } = connect();
		await set(nights);
		const pass = (time: string) => {
			clock.passTo(time);
			store.tick();
			store.tick();
		};
		pass("2026-03-21T00:00:00Z");
		pass("2026-10-20T12:00:00Z");
		assert.deepEqual(values.map(hoursOf), [
			[...nine(9), 8, ...nine(5)],
			[...nine(8), 8, ...nine(6)],
			[...nine(5), 10, ...nine(9)],
		]);
		assert.equal(values[1]?.periods.at(-1)?.from, utc("2026-04-03T20:00Z"));
	});

	test("hold across clock changes", async (t) => {
		const { clock, store, set } = await run(t, noon);
		await set(nights);
		for (const [begin, end] of [
			["2026-03-28T21:00:00.000Z", "2026-03-29T05:00:00.000Z"],
			["2026-10-24T20:00:00.000Z", "2026-10-25T06:00:00.000Z"],
		] as const) {
			const holds = (time: string, ms: number) => {
				clock.set(time);
				clock.pass(ms);
				return store.list()[0]?.holdsUntil;
			};
			const held = [holds(begin, -1), holds(begin, 0), holds(end, -1), holds(end, 0)];
			assert.deepEqual(held, [null, end, end, null]);
		}
	});

	test("of a device override its room, and these the home; disabled ones are empty", async (t) => {
		const { store, connect, label, set } = await run(t, noon);
		const [first, second] = [connect(), connect("dev-1-000002")];
		label(id, "Kitchen");
		label("dev-1-000002", "Hall");
		await set(nights);
		await set({ ...nights, targets: { room: "Kitchen" }, volume: 30 });
		label(id, "Hall");
		label(id, "Kitchen");
		const own = { ...nights, targets: { device: id }, volume: 40 };
		await set(own);
		await set({ ...own, on: false });
		const listed = store.list();
		const places = [{ all: true }, { room: "Kitchen" }, { device: id }];
		const shown = listed.map(({ targets, on }) => [targets, on]);
		const expected = places.map((place) => [place, place.device === undefined]);
		assert.deepEqual(shown, expected);
		for (const entry of listed.toReversed()) await store.store.remove(entry.id);
		const volumes = [first, second].map(({ values }) =>
			values.map((value) => value?.volume ?? "none").join(),
		);
		assert.deepEqual(volumes, ["20,30,20,30,40,none,30,20,none", "20,none"]);
	});

	test("persist across a restart and a change of the time zone, and end at a device if unknown", async (t) => {
		const first = await run(t, noon, { zone: "UTC" });
		await first.set(nights);
		await first.close();
		const { store, connect } = await run(t, noon, { dataDir: first.dataDir });
		assert.deepEqual(connect().values[0]?.periods[1]?.from, utc("2026-11-27T21:00Z"));
		assert.deepEqual([store.list()[0]?.zone, store.list()[0]?.volume], [berlin, 20]);
		const other = await run(t, noon);
		assert.deepEqual(other.connect(id, "0123456789abcdef").values, [null]);
	});

	test("of a room follow its new name without interruption, unless that has its own", async (t) => {
		const { store, connect, label, set } = await run(t, noon);
		const { values } = connect();
		connect("dev-1-000002");
		label("dev-1-000002", "Hall");
		label(id, "Kitchen");
		await set({ ...nights, targets: { room: "Hall" }, volume: 30 });
		await set({ ...nights, targets: { room: "Kitchen" } });
		await store.renameRoom("Kitchen", "Lounge");
		label(id, "Lounge");
		await store.renameRoom("Lounge", "Hall");
		label(id, "Hall");
		const listed = store.list().map(({ targets, volume }) => `${targets.room} ${volume}`);
		assert.deepEqual(listed, ["Hall 30", "Lounge 20"]);
		await store.move({ room: "Hall" }, { device: "dev-1-000002" });
		const volumes = values.map((value) => value?.volume ?? null);
		assert.deepEqual([volumes[0], volumes.slice(-2)], [20, [30, null]]);
	});

	test("are resent to a busy device after its next report, and never to older firmware", async (t) => {
		const { sessions, connect, report, set } = await run(t, noon);
		const { session, values } = connect();
		const old = connect("dev-1-000002", undefined, []);
		await set(nights);
		const error = { type: "command_error", deviceId: id, command: "set_quiet", message: "no" } as const;
		for (const code of ["invalid_value", "busy"] as const) {
			sessions.receive(session, { ...error, code }, Buffer.from("{}"));
			report(session);
		}
		assert.deepEqual([values.length, old.values], [2, []]);
	});

	test("of a device are removed when it is forgotten", async (t) => {
		const { sessions, store, connect, set } = await run(t, noon);
		const { session } = connect();
		await set({ ...nights, targets: { device: id } });
		sessions.end(session, "disconnected");
		assert.ok(session.device && sessions.forget(session.device), "the device is not forgotten");
		await setImmediate();
		assert.deepEqual(store.list(), []);
	});

	test("are in force on a full disk although they are rejected, and not deleted", async (t) => {
		let isFull = true;
		const disk = changingDisk(() => {
			if (isFull) throw systemError("ENOSPC");
		});
		const { store, connect, set } = await run(t, noon, { disk });
		const { values } = connect();
		const is507 = ({ rejection }: RequestError) => rejection.status === 507;
		await assert.rejects(set(nights), is507);
		assert.equal(values.length, 1);
		const [kept] = store.list();
		await assert.rejects(store.store.remove(kept?.id ?? ""), is507);
		assert.deepEqual(store.list(), [kept]);
		isFull = false;
	});

	test("are rejected without one known target and a limit", async (t) => {
		const { connect, set } = await run(t, noon);
		connect();
		const { volume: _, ...unlimited } = nights;
		const targets = [
			{ all: true, room: "Kitchen" },
			{ all: false },
			{ device: "dev-1-000009" },
			{ room: "Attic" },
		];
		for (const request of [
			{ ...unlimited, onlyUrgent: false },
			...targets.map((target) => ({ ...nights, targets: target })),
		])
			await assert.rejects(set(request), ({ rejection }: RequestError) => rejection.status === 422);
	});
});
