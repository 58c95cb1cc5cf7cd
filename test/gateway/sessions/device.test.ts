import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StateReport } from "../../../device/protocol/messages.js";
import { Device, Session, sharedList } from "../../../gateway/sessions/device.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";

const startedAt = Date.parse("2026-11-20T12:00:00Z");

/** Time of a report, in ms after the first start, and its uptime, in seconds. */
interface Report {
	readonly at: number;
	readonly uptime: number;
	/** Whether the report is on the same connection as the previous one. */
	readonly isConnected?: boolean;
	/** Offset of the gateway's clock, in ms. */
	readonly setBy?: number;
}

/** Start times detected from these reports, in ms after the first start. */
function startsOf(reports: readonly Report[]): readonly number[] {
	const connect = () => {
		const handshake = {
			deviceId: "dev-1-a1b2c3",
			isBound: false,
			features: [],
			model: undefined,
			chip: undefined,
		};
		const link = { send: () => {}, isOpen: () => true, close: () => {} };
		return new Session({ ...handshake, remoteAddress: "", baseUrl: "" }, link, startedAt);
	};
	const device = new Device("dev-1-a1b2c3", connect());
	const sample: StateReport = sampleReport("DEV-1");
	for (const { at, uptime, isConnected, setBy } of reports) {
		if (!isConnected) device.session = connect();
		const report = { ...sample, health: { ...sample.health, uptime_seconds: Math.floor(uptime) } };
		device.report(report, Buffer.from(JSON.stringify(report)), startedAt + (setBy ?? 0) + at, at);
	}
	return device.resets.map(({ at }) => at - startedAt);
}

describe("detects a restart", () => {
	test("once for any number of reports with whole seconds", () => {
		const uptimes = [0.1, 0.2, 0.9, 1.05, 4.99, 5.95, 30, 3600.99];
		assert.deepEqual(startsOf(uptimes.map((uptime) => ({ at: uptime * 1000, uptime }))), [100]);
	});

	test("if the uptime decreases, even shortly after", () => {
		const previous = { at: 3500, uptime: 3.5 };
		assert.deepEqual(startsOf([previous, { at: 3900, uptime: 0.2 }]), [500, 3900]);
	});

	test("if the device keeps failing right after its report", () => {
		const reports = [0, 1, 2, 3].map((run) => ({ at: 2500 + run * 3000, uptime: 2.5 }));
		assert.deepEqual(startsOf(reports), [500, 3500, 6500, 9500]);
	});

	test("if the device was offline for longer than its uptime", () => {
		assert.deepEqual(
			startsOf([
				{ at: 5000, uptime: 5 },
				{ at: 600_000, uptime: 60 },
			]),
			[0, 540_000],
		);
	});

	test("never while connected, with any delay and clock change of the gateway", () => {
		const reports = [0.1, 1, 5].map((uptime) => ({ at: uptime * 1000, uptime, isConnected: uptime > 0.1 }));
		const late = { at: 27_000, uptime: 15, isConnected: true };
		const clockSet = { at: 7_200_000, uptime: 20, isConnected: true };
		assert.deepEqual(startsOf([...reports, late, clockSet]), [100]);
	});

	test("not for a late report", () => {
		assert.deepEqual(
			startsOf([
				{ at: 60_000, uptime: 60 },
				{ at: 80_000, uptime: 65 },
			]),
			[0],
		);
	});

	test("independently of clock changes of the gateway", () => {
		const hour = 3_600_000;
		for (const setBy of [hour, -hour]) {
			const before = { at: 60_000, uptime: 60 };
			assert.deepEqual(startsOf([before, { at: 70_000, uptime: 70, setBy }]), [0]);
			assert.deepEqual(startsOf([before, { at: 70_000, uptime: 4, setBy }]), [0, 66_000 + setBy]);
			assert.deepEqual(startsOf([before, { at: 400_000, uptime: 100, setBy }]), [0, 300_000 + setBy]);
		}
	});
});

test("shares one list between devices with the same features", () => {
	const list = sharedList(["identify", "crash"]);
	assert.equal(sharedList(["identify", "crash"]), list);
	assert.deepEqual(sharedList(["identify"]), ["identify"]);
	assert.deepEqual(list, ["identify", "crash"]);
});
