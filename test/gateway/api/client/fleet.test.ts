import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type StateReport, uplinks } from "../../../../device/protocol/messages.js";
import { matches } from "../../../../device/protocol/schema.js";
import { Fleet, keepNewest } from "../../../../gateway/api/client/fleet.js";
import type { ChangeReason, FrameOf } from "../../../../gateway/api/frames.js";
import type { DeviceSummary, SessionRecord } from "../../../../gateway/api/session.js";
import type { OtaStatus } from "../../../../gateway/api/statuses.js";
import type { OtaMetadata } from "../../../../gateway/api/update.js";
import { sampleReport, withField } from "../../../support/sample-report.js";

const second = 1000;
const id = "dev-1-a1b2c3";
const sentAt = Date.parse("2026-11-20T12:00:00Z");

const idle: OtaMetadata = { otaStatus: "idle", otaPercent: null, otaVersion: null, otaReason: null };

function session(change: Partial<SessionRecord> = {}): SessionRecord {
	return {
		...{ sessionId: "s1", deviceId: id, model: "DEV-1", connected: true },
		...{ connectedAt: "2026-11-20T11:00:00Z", lastSeenAt: "2026-11-20T11:59:57Z" },
		...{ remoteAddress: "192.168.1.20", firmwareVersion: "1.2.3", features: [], metadata: idle, state: null },
		...change,
	};
}

function update(reason: ChangeReason, ...sessions: SessionRecord[]): FrameOf<"status_update"> {
	return { type: "status_update", reason, timestamp: new Date(sentAt).toISOString(), sessions };
}

/** Row of the gateway's summary. */
function summarized(change: Partial<DeviceSummary> = {}): DeviceSummary {
	const { connectedAt: _, lastSeenAt: _lastSeenAt, state: _state, ...head } = session();
	return {
		...head,
		deviceId: id,
		chip: "esp32s3",
		rssi: -70,
		ssid: "home",
		volume: 50,
		...change,
	};
}

type Summary = FrameOf<"summary">;
function summary(reason: Summary["reason"], change: Partial<Summary>): Summary {
	return { type: "summary", reason, timestamp: new Date(sentAt).toISOString(), devices: [], ...change };
}

function report(path: string, value: number): StateReport {
	const message = withField(sampleReport("DEV-1"), path, value);
	if (!matches(uplinks.state_report, message)) throw new Error("not a report");
	return message;
}

function setUp() {
	const changes: string[] = [];
	const fleet = new Fleet((key, isListed) => changes.push(isListed ? `${key}, listed` : key));
	const says = (message: StateReport, now: number) =>
		fleet.receive({ type: "device_message", sessionId: "s1", deviceId: id, message }, now);
	const keys = () => fleet.all().map(({ key }) => key);
	return { fleet, changes, says, keys };
}

describe("fleet", () => {
	test("shows when a device was last heard by the gateway's clock, never back or in the future", () => {
		const { fleet, says } = setUp();
		fleet.update(update("snapshot", session()));
		assert.equal(fleet.get(id)?.heardAt, sentAt - 3 * second);
		fleet.update(update("connected", session({ lastSeenAt: new Date(sentAt + second).toISOString() })));
		assert.equal(fleet.get(id)?.heardAt, sentAt);
		says(report("peripherals.audio.volume", 4), sentAt + 60 * second);
		fleet.update(update("ota", session()));
		assert.equal(fleet.get(id)?.heardAt, sentAt + 60 * second);
	});

	test("assigns a report to its session, and keeps a device's position across its identification and a new session", () => {
		const { fleet, says, keys } = setUp();
		fleet.update(update("connected", session({ deviceId: null })));
		assert.equal(says(report("peripherals.audio.volume", 4), 10), "s1");
		assert.equal(fleet.get("s1")?.state?.peripherals.audio.volume, 4);
		fleet.update(update("identified", session()));
		assert.deepEqual(keys(), [id]);
		fleet.update(update("connected", session({ sessionId: "s2" })));
		fleet.update(update("replaced", session({ sessionId: "s1", connected: false })));
		assert.equal(fleet.get(id)?.session.connected, true, "affected by the end of the previous session");
	});

	test("forgets an ended unidentified session, and sessions missing from a snapshot", () => {
		const { fleet, changes } = setUp();
		fleet.update(update("connected", session({ deviceId: null })));
		fleet.update(update("disconnected", session({ deviceId: null, connected: false })));
		assert.equal(fleet.size, 0);
		fleet.update(update("connected", session()));
		changes.length = 0;
		fleet.update(update("snapshot", session({ deviceId: "dev-1-ffffff" })));
		assert.deepEqual(changes, [`${id}, listed`, "dev-1-ffffff, listed"]);
	});

	test("forgets sessions missing from a multi-frame snapshot after its last frame", () => {
		const { fleet } = setUp();
		const named = (deviceId: string) => session({ deviceId });
		for (const id of ["dev-1-aaaaaa", "dev-1-bbbbbb", "dev-1-cccccc"])
			fleet.update(update("connected", named(id)));
		const pieces = [
			{ ...update("snapshot", named("dev-1-bbbbbb")), remaining: 2 },
			update("connected", named("dev-1-dddddd")),
			{ ...update("identified", named("dev-1-cccccc")), remaining: 1 },
			{ ...update("identified", named("dev-1-eeeeee")), remaining: 0 },
		];
		const sizes = pieces.map((piece) => `${fleet.update(piece)} ${fleet.size}`);
		assert.deepEqual(sizes, ["false 3", "false 4", "false 4", "true 4"]);
		assert.equal(fleet.get("dev-1-aaaaaa"), undefined);
	});

	test("rebuilds lists only when their content changes", () => {
		const { fleet, changes, says } = setUp();
		fleet.update(update("connected", session()));
		says(report("network.wifi_rssi", -50), 0);
		changes.length = 0;
		says(report("network.wifi_rssi", -49), 1);
		assert.deepEqual(changes, [id]);
		says(report("network.wifi_rssi", -84), 2);
		assert.deepEqual(changes.slice(1), [`${id}, listed`], "its signal is another one as lists show it");
	});

	test("ignores messages for unknown sessions", () => {
		const { fleet, says, changes } = setUp();
		assert.equal(says(report("peripherals.audio.volume", 4), 0), undefined);
		assert.deepEqual([changes, fleet.size], [[], 0]);
	});
});

describe("fleet with a summary", () => {
	test("contains every device, and forgets those removed or missing from a full summary", () => {
		const { fleet, keys } = setUp();
		fleet.update(update("snapshot", session({ deviceId: "dev-1-ffffff" }), session({ deviceId: null })));
		const [a, b] = [summarized({ deviceId: "dev-1-aaaaaa" }), summarized({ deviceId: "dev-1-bbbbbb" })];
		assert.equal(fleet.summarize(summary("snapshot", { devices: [a], remaining: 1 })), false);
		assert.equal(fleet.summarize(summary("changed", { devices: [b], remaining: 0 })), true);
		assert.deepEqual(keys(), ["dev-1-aaaaaa", "dev-1-bbbbbb"]);
		fleet.summarize(summary("changed", { removed: ["dev-1-aaaaaa"] }));
		assert.deepEqual(keys(), ["dev-1-bbbbbb"]);
	});

	test("shows summary data of a device without a subscription", () => {
		const { fleet } = setUp();
		const devices = [summarized({ safeMode: true, unmutedVolume: 40 })];
		fleet.summarize(summary("snapshot", { devices, remaining: 0 }));
		const entry = fleet.get(id);
		const { rssi, ssid, volume, unmutedVolume, safeMode } = entry?.vitals ?? {};
		assert.deepEqual([rssi, ssid, volume, unmutedVolume, safeMode], [-70, "home", 50, 40, true]);
		assert.deepEqual([entry?.state, entry?.isFollowed], [null, false]);
		const lastSeenAt = "2026-11-20T11:58:00Z";
		fleet.summarize(summary("changed", { devices: [summarized({ connected: false, lastSeenAt })] }));
		assert.equal(fleet.get(id)?.heardAt, sentAt - 120 * second, "time of disconnection");
	});

	test("prefers reports of a subscribed device to the summary", () => {
		const { fleet, says } = setUp();
		fleet.summarize(summary("snapshot", { devices: [summarized()], remaining: 0 }));
		says(report("network.wifi_rssi", -66), 10);
		fleet.summarize(summary("changed", { devices: [summarized({ room: "Hall" })] }));
		const entry = fleet.get(id);
		assert.deepEqual([entry?.vitals.rssi, entry?.isFollowed, entry?.session.room], [-66, true, "Hall"]);
		assert.equal(entry?.state?.network.wifi_rssi, -66, "report was dropped");
		assert.equal(entry?.heardAt, 10);
		fleet.follow(new Set());
		fleet.summarize(summary("changed", { devices: [summarized({ rssi: -80 })] }));
		const left = fleet.get(id);
		assert.deepEqual([left?.vitals.rssi, left?.isFollowed], [-80, false]);
	});

	test("prefers the summary to a snapshot of unsubscribed devices", () => {
		const { fleet, says } = setUp();
		fleet.follow(new Set());
		fleet.update(update("snapshot", session({ state: report("network.wifi_rssi", -50) })));
		assert.equal(fleet.get(id)?.vitals.rssi, -50);
		fleet.summarize(summary("snapshot", { devices: [summarized()], remaining: 0 }));
		assert.equal(fleet.get(id)?.vitals.rssi, -70);
		fleet.follow(new Set([id]));
		says(report("network.wifi_rssi", -51), 0);
		const { vitals, isFollowed } = fleet.get(id) ?? {};
		assert.deepEqual([vitals?.rssi, isFollowed], [-51, true]);
	});

	test("rebuilds lists for a new name, but not for hidden fields", () => {
		const { fleet, changes } = setUp();
		fleet.summarize(summary("snapshot", { devices: [summarized()], remaining: 0 }));
		const before = fleet.listVersion;
		const metadata = { ...idle, otaStatus: "downloading", otaPercent: 3, otaVersion: "2.0.0" } as const;
		fleet.summarize(summary("changed", { devices: [summarized({ metadata })] }));
		assert.equal(fleet.listVersion, before + 1, "now updating");
		changes.length = 0;
		const further = { ...metadata, otaPercent: 4 };
		fleet.summarize(summary("changed", { devices: [summarized({ metadata: further })] }));
		assert.deepEqual(changes, [id]);
		fleet.summarize(summary("changed", { devices: [summarized({ metadata, name: "Lobby" })] }));
		assert.deepEqual(changes.slice(1), [`${id}, listed`]);
	});
});

test("update progress never decreases during an update, restarts with another one, and ends with it", () => {
	const at = (otaStatus: OtaStatus, otaPercent: number | null, otaVersion = "2.0.0"): OtaMetadata => {
		return { ...idle, otaStatus, otaPercent, otaVersion };
	};
	const shown = at("downloading", 60);
	for (const [before, next, percent] of [
		[shown, at("downloading", 40), 60],
		[shown, at("downloading", 61), 61],
		[shown, at("rebooting", null), 60],
		[shown, at("pending", null), null],
		[shown, at("downloading", 3, "3.0.0"), 3],
		[at("failed", 60), at("downloading", 3), 3],
	] as const)
		assert.equal(keepNewest(before, next).otaPercent, percent);
	assert.equal(keepNewest(at("rebooting", 100), at("downloading", 99)).otaStatus, "rebooting");
	assert.equal(keepNewest(shown, at("failed", 60)).otaStatus, "failed");
});
