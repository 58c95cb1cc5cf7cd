/**
 * Two networks that come and go, with firmware in XS. networks.properties.test.ts compares the rules with a model.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AccessPoint } from "../../../hosts/virtual/node/board.js";
import { powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { nextConnection, pass } from "../../support/virtual-time.js";

const home: AccessPoint = {
	ssid: "home",
	rssi: -50,
	password: "home password",
	bssid: "02:00:00:00:00:0a",
	channel: 1,
};
const guest: AccessPoint = {
	ssid: "guest",
	rssi: -60,
	password: "guest password",
	bssid: "02:00:00:00:00:0b",
	channel: 11,
};
const known = {
	ssid: "home",
	password: "home password",
	ssid2: "guest",
	password2: "guest password",
};

async function start(
	t: TestContext,
	accessPoints: readonly AccessPoint[],
	settings: Readonly<Record<string, string>> = known,
) {
	const gateway = await runScriptedGateway(t);
	let trace = "";
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		settings: { gateway: gateway.url, token: "t", ...settings },
		accessPoints,
		onTrace: (text) => {
			trace += text;
		},
	});
	const { connection, report } = await nextConnection(device, gateway);
	return { device, gateway, connection, network: report.network, trace: () => trace };
}

test("joins the stronger network, reports it, and leaves it after 10 minutes without access to the gateway", async (t) => {
	const { device, gateway, network } = await start(t, [home, guest]);
	const { wifi_ssid, bssid, channel, reconnects, last_loss } = network;
	assert.deepEqual({ ssid: wifi_ssid, bssid, channel }, { ssid: "home", bssid: home.bssid, channel: 1 });
	assert.deepEqual([reconnects, last_loss], [0, undefined]);
	const accepts = gateway.server.shouldHandle;
	gateway.server.shouldHandle = () => false;
	for (const client of gateway.server.clients) client.terminate();
	await pass(device, 11 * 60_000);
	gateway.server.shouldHandle = accepts;
	assert.equal((await nextConnection(device, gateway)).report.network.wifi_ssid, "guest");
});

test("tries a second network although the first one is stronger, and removes it with its password", async (t) => {
	const { ssid, password, ...second } = known;
	const { device, gateway, connection, trace } = await start(t, [home, guest], { ssid, password });
	connection.send({ command: "set_settings", value: second });
	const tried = await nextConnection(device, gateway);
	assert.equal(tried.report.network.wifi_ssid, "guest");
	assert.equal((await tried.connection.next("settings_result")).outcome, "kept");
	const stored = () => [device.setting("ssid2"), device.setting("password2")];
	assert.deepEqual(stored(), ["guest", "guest password"]);
	tried.connection.send({ command: "set_settings", value: { ssid2: "" } });
	const again = await nextConnection(device, gateway);
	assert.equal((await again.connection.next("settings_result")).outcome, "kept");
	assert.deepEqual(stored(), [undefined, undefined]);
	assert.doesNotMatch(trace(), /guest password|home password/);
});
