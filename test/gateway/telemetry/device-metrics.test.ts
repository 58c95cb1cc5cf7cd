import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { watchDevices } from "../../../gateway/telemetry/device-metrics.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { makeSessions } from "../../support/record-stubs.js";
import { catalogEntry } from "../../support/releases.js";

const board = { model: "DEV-1", chip: "esp32s3" } as const;
type Board = Omit<Parameters<typeof catalogEntry>[0], "version">;

/** @param releases version and board of each release */
function watch(releases: readonly (readonly [version: string, of: Board])[] = []) {
	const { sessions, open } = makeSessions();
	const registry = new Registry();
	const catalog = {
		schema: 1 as const,
		latest: null,
		releases: releases.map(([version, of]) => {
			const images = [catalogEntry({ version, ...of }, Buffer.alloc(0))];
			return { version, date: "2026-01-02", notes: "", images };
		}),
	};
	watchDevices({ metrics: createMetrics(registry), sessions, catalog: { read: async () => catalog } });
	const connect = (deviceId: string, firmwareVersion: string, of: Board = board) => {
		const session = open(deviceId, of);
		assert.ok(session.device, `the gateway has no room for ${deviceId}`);
		session.device.firmwareVersion = firmwareVersion;
		return session;
	};
	return { sessions, registry, connect };
}

test("counts devices by version and model, offline ones, and outdated ones", async () => {
	const { sessions, registry, connect } = watch([
		["1.10.0", board],
		["2.0.0-beta.1", board],
		["3.0.0", { model: "DEV-1", chip: "virtual" }],
		["1.9.0", { model: "PROTO-1", chip: "esp32" }],
	]);
	const read = async () =>
		(await registry.metrics()).match(/^gateway_(devices|devices_away|due_updates)\b.*$/gm)?.sort();
	assert.deepEqual(await read(), ["gateway_devices_away 0", "gateway_due_updates 0"]);
	connect("dev-1-00000a", "1.9.0");
	connect("dev-1-00000b", "1.9.0");
	connect("dev-1-00000c", "1.10.0");
	connect("dev-1-00000d", "nightly");
	connect("dev-1-00000e", "1.10.0", { model: "DEV-1", chip: "virtual" });
	sessions.end(connect("proto-1-00000f", "1.8.0", { model: "PROTO-1", chip: "esp32" }), "disconnected");
	const ofOthers = [
		"gateway_devices_away 1",
		'gateway_devices{version="1.10.0",model="DEV-1"} 2',
		'gateway_devices{version="1.8.0",model="PROTO-1"} 1',
	];
	assert.deepEqual(await read(), [
		...ofOthers,
		'gateway_devices{version="1.9.0",model="DEV-1"} 2',
		'gateway_devices{version="nightly",model="DEV-1"} 1',
		"gateway_due_updates 4",
	]);
	connect("dev-1-00000d", "1.9.0");
	const later = [...ofOthers, 'gateway_devices{version="1.9.0",model="DEV-1"} 3', "gateway_due_updates 5"];
	assert.deepEqual(await read(), later);
});

test("limits version labels to the 20 most frequent", async () => {
	const { registry, connect } = watch();
	// 1.0.0 to 1.0.19 are run by 50 devices each, the last ones.
	for (let index = 0; index < 10_000; index += 1)
		connect(`dev-1-${index}`, index < 9_000 ? `0.0.${index}` : `1.0.${index % 20}`);
	const { values = [] } = (await registry.getSingleMetric("gateway_devices")?.get()) ?? {};
	const counts = new Map<unknown, number>();
	for (const { labels, value } of values)
		counts.set(labels.version, value + (counts.get(labels.version) ?? 0));
	assert.equal(counts.size, 21);
	assert.equal(counts.get("other"), 9_000);
	for (let index = 0; index < 20; index += 1) assert.equal(counts.get(`1.0.${index}`), 50);
});
