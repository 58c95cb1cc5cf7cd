import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Registry } from "prom-client";
import type { Handshake } from "../../../gateway/sessions/device.js";
import { Sessions } from "../../../gateway/sessions/sessions.js";
import { watchDevices } from "../../../gateway/telemetry/device-metrics.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { eventually } from "../../support/eventually.js";
import { writeReleases } from "../../support/releases.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";

const handshake: Handshake = {
	deviceId: undefined,
	isBound: false,
	model: "DEV-1",
	chip: "esp32s3",
	features: [],
	remoteAddress: "127.0.0.1",
	baseUrl: "http://127.0.0.1",
};
const board = { model: "DEV-1", chip: "esp32s3" } as const;
/** Extensions that label devices. */
const _ofFleet = { skip: existsSync("gateway/fleet") ? false : "fleet/ was removed" };
const link = { send: () => {}, isOpen: () => true, close: () => {} };

test("counts devices by version and model, offline ones, and outdated ones", async (t) => {
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await writeReleases(releasesDir, [
		{ version: "1.10.0", ...board },
		{ version: "2.0.0-beta.1", ...board },
		{ version: "3.0.0", model: "DEV-1", chip: "virtual" },
		{ version: "1.9.0", model: "PROTO-1", chip: "esp32" },
	]);
	const { url } = await runGateway(t, { releasesDir });
	const connect = async (
		deviceId: string,
		version: string,
		of: Pick<ScriptedDeviceOptions, "model" | "chip"> = board,
	) => {
		const device = await new ScriptedDevice({ url, deviceId, version, ...of }).connect();
		t.after(() => device.close());
		return device;
	};
	const read = async () => {
		const response = await fetch(`${url}/metrics`, { headers: bearer(monitorToken) });
		const lines = (await response.text()).split("\n");
		return lines.filter((line) => /^gateway_(devices|devices_away|due_updates)\b/.test(line)).sort();
	};
	const shows = (...expected: readonly string[]) =>
		eventually(read, (lines) => lines.join("\n") === expected.join("\n"));
	await shows("gateway_devices_away 0", "gateway_due_updates 0");
	await connect("dev-1-00000a", "1.9.0");
	await connect("dev-1-00000b", "1.9.0");
	await connect("dev-1-00000c", "1.10.0");
	await connect("dev-1-00000d", "nightly");
	await connect("dev-1-00000e", "1.10.0", { model: "DEV-1", chip: "virtual" });
	const leaving = await connect("proto-1-00000f", "1.8.0", { model: "PROTO-1", chip: "esp32" });
	leaving.close();
	await shows(
		"gateway_devices_away 1",
		'gateway_devices{version="1.10.0",model="DEV-1"} 2',
		'gateway_devices{version="1.8.0",model="PROTO-1"} 1',
		'gateway_devices{version="1.9.0",model="DEV-1"} 2',
		'gateway_devices{version="nightly",model="DEV-1"} 1',
		"gateway_due_updates 4",
	);
	await connect("dev-1-00000d", "1.9.0");
	await shows(
		"gateway_devices_away 1",
		'gateway_devices{version="1.10.0",model="DEV-1"} 2',
		'gateway_devices{version="1.8.0",model="PROTO-1"} 1',
		'gateway_devices{version="1.9.0",model="DEV-1"} 3',
		"gateway_due_updates 5",
	);
});

test("limits version labels to the 20 most frequent", async () => {
	const sessions = new Sessions({ now: Date.now, monotonic: () => performance.now(), maxDevices: 10_000 });
	const registry = new Registry();
	const catalog = { read: async () => ({ schema: 1, latest: null, releases: [] }) as const };
	watchDevices({ metrics: createMetrics(registry), sessions, catalog });
	for (let index = 0; index < 10_000; index += 1) {
		const { device } = sessions.open({ ...handshake, deviceId: `dev-1-${index}` }, link);
		assert.ok(device, `the gateway has no room for device ${index}`);
		// 1.0.0 to 1.0.19 are run by 50 devices each, the last ones.
		device.firmwareVersion = index < 9_000 ? `0.0.${index}` : `1.0.${index % 20}`;
	}
	const { values = [] } = (await registry.getSingleMetric("gateway_devices")?.get()) ?? {};
	const counts = new Map<unknown, number>();
	for (const { labels, value } of values)
		counts.set(labels.version, value + (counts.get(labels.version) ?? 0));
	assert.equal(counts.size, 21);
	assert.equal(counts.get("other"), 9_000);
	for (let index = 0; index < 20; index += 1) assert.equal(counts.get(`1.0.${index}`), 50);
});
