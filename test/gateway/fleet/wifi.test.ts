import assert from "node:assert/strict";
import { test } from "node:test";
import { type RunningGateway, runWatched } from "../../support/running.js";
import { type Json, sampleReport, withFields } from "../../support/sample-report.js";

const hourMs = 60 * 60 * 1000;

function reportOf(deviceId: string, fields: Readonly<Record<string, Json | undefined>>): object {
	return withFields({ ...sampleReport("DEV-1"), deviceId }, fields);
}

async function overview({ api }: RunningGateway) {
	const { status, body } = await api("GET", "/api/wifi");
	assert.equal(status, 200);
	return body.devices;
}

test("lists devices by access point, weakest first, including firmware that does not report one", async (t) => {
	const { gateway, monitor } = await runWatched(t);
	const older = { bssid: undefined, channel: undefined, reconnects: undefined, last_loss: undefined };
	const newer = { bssid: "02:00:00:00:00:0a", channel: 11 };
	for (const [deviceId, fields] of [
		["dev-1-aaaaaa", { wifi_rssi: -40, wifi_ssid: "home", ...newer }],
		["dev-1-bbbbbb", { wifi_rssi: -80, wifi_ssid: "guest", ...older }],
	] as const) {
		const { network, ...report } = sampleReport("DEV-1");
		(await gateway.device({ "Device-Id": deviceId })).send({
			...report,
			deviceId,
			network: { ...network, ...fields },
		});
		await monitor.change("identified");
	}
	(await gateway.reporting(monitor, "dev-1-cccccc")).socket.close();
	await monitor.change("disconnected");
	const common = { reconnects: 0 };
	assert.deepEqual(await overview(gateway), [
		{
			deviceId: "dev-1-bbbbbb",
			ssid: "guest",
			bssid: null,
			channel: null,
			rssi: -80,
			lastLoss: null,
			...common,
		},
		{ deviceId: "dev-1-aaaaaa", ssid: "home", ...newer, rssi: -40, lastLoss: "signal_lost", ...common },
	]);
});

test("counts reconnects of the last 24 hours across restarts of the device", async (t) => {
	let monotonicMs = 100 * hourMs;
	const { gateway, monitor } = await runWatched(t, { monotonic: () => monotonicMs });
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
	assert.equal(await says(5, 1), 1, "it has restarted, and connected again as often as before");
});
