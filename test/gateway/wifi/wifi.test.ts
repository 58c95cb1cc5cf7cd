import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "../../../device/protocol/schema.js";
import { bearer, monitorToken, type RunningGateway, runGateway } from "../../support/running.js";
import { type Json, sampleReport, withField } from "../../support/sample-report.js";

const hourMs = 60 * 60 * 1000;

function reportOf(deviceId: string, fields: Readonly<Record<string, Json | undefined>>): object {
	let report: Readonly<Record<string, Json>> = { ...sampleReport("DEV-1"), deviceId };
	for (const [path, value] of Object.entries(fields)) report = withField(report, path, value);
	return report;
}

async function overview({ url }: RunningGateway): Promise<readonly Readonly<Record<string, unknown>>[]> {
	const response = await fetch(`${url}/api/wifi`, { headers: bearer(monitorToken) });
	assert.equal(response.status, 200);
	const body: unknown = await response.json();
	assert.ok(isRecord(body) && Array.isArray(body.devices), `answer: ${JSON.stringify(body)}`);
	return body.devices;
}

test("lists devices by access point, weakest first, including firmware that does not report one", async (t) => {
	const gateway = await runGateway(t);
	const monitor = await gateway.monitor();
	const older = { bssid: undefined, channel: undefined, reconnects: undefined, last_loss: undefined };
	for (const [deviceId, fields] of [
		["dev-1-aaaaaa", { wifi_rssi: -40, wifi_ssid: "home", bssid: "02:00:00:00:00:0a", channel: 11 }],
		["dev-1-bbbbbb", { wifi_rssi: -80, wifi_ssid: "guest", ...older }],
	] as const) {
		const device = await gateway.device({ "Device-Id": deviceId });
		const paths = Object.entries(fields).map(([name, value]) => [`network.${name}`, value]);
		device.send(reportOf(deviceId, Object.fromEntries(paths)));
		await monitor.change("identified");
	}
	const away = await gateway.device({ "Device-Id": "dev-1-cccccc" });
	away.send(reportOf("dev-1-cccccc", {}));
	await monitor.change("identified");
	away.socket.close();
	await monitor.change("disconnected");
	assert.deepEqual(await overview(gateway), [
		{
			deviceId: "dev-1-bbbbbb",
			ssid: "guest",
			bssid: null,
			channel: null,
			rssi: -80,
			reconnects: 0,
			lastLoss: null,
		},
		{
			deviceId: "dev-1-aaaaaa",
			ssid: "home",
			bssid: "02:00:00:00:00:0a",
			channel: 11,
			rssi: -40,
			reconnects: 0,
			lastLoss: "signal_lost",
		},
	]);
});

test("counts reconnects of the last 24 hours across restarts of the device", async (t) => {
	let monotonicMs = 100 * hourMs;
	const gateway = await runGateway(t, { monotonic: () => monotonicMs });
	const monitor = await gateway.monitor();
	const deviceId = "dev-1-aaaaaa";
	const device = await gateway.device({ "Device-Id": deviceId });
	const says = async (uptime: number, reconnects: number) => {
		device.send(reportOf(deviceId, { "health.uptime_seconds": uptime, "network.reconnects": reconnects }));
		await monitor.until(({ type }) => type === "device_message");
		return (await overview(gateway))[0]?.reconnects;
	};
	assert.equal(await says(1000, 7), 0, "it is unknown when those before happened");
	assert.equal(await says(1005, 9), 2);
	assert.equal(await says(1010, 9), 2);
	monotonicMs += 12 * hourMs;
	assert.equal(await says(5, 1), 3, "it has restarted, and connected again once since");
	monotonicMs += 11 * hourMs;
	assert.equal(await says(40_000, 1), 3, "all are in the last 24 hours");
	monotonicMs += hourMs;
	assert.equal(await says(50_000, 1), 1, "the first two are in the 25th hour");
	monotonicMs += 12 * hourMs;
	assert.equal(await says(90_000, 1), 0);
});
