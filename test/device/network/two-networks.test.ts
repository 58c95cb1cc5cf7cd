/**
 * Two networks that come and go, with firmware in XS. networks.properties.test.ts compares the rules with a model.
 */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { ChangedSettings } from "../../../device/protocol/messages.js";
import type { AccessPoint } from "../../../hosts/virtual/node/board.js";
import type { VirtualDevice } from "../../../hosts/virtual/node/virtual-device.js";
import { powerOn, runScriptedGateway, type ScriptedGateway } from "../../support/scripted-gateway.js";
import { pass, passUntil } from "../../support/virtual-time.js";

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
	const traced: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		settings: { gateway: gateway.url, token: "t", ...settings },
		accessPoints,
		onTrace: (text) => traced.push(text),
	});
	return { device, gateway, traced };
}

async function connected(device: VirtualDevice, gateway: ScriptedGateway) {
	const connection = await passUntil(device, gateway.connection());
	return { connection, report: await connection.next("state_report") };
}

describe("with two networks", () => {
	for (const [near, far] of [
		[home, guest],
		[guest, home],
	] as const)
		test(`joins the stronger one, ${near.ssid}, and reports its access point`, async (t) => {
			const { device, gateway } = await start(t, [
				{ ...far, rssi: -80 },
				{ ...near, rssi: -40 },
			]);
			const { network } = (await connected(device, gateway)).report;
			assert.deepEqual(
				[network.wifi_ssid, network.bssid, network.channel, network.reconnects, network.last_loss],
				[near.ssid, near.bssid, near.channel, 0, undefined],
			);
		});
});

test("leaves a network without access to the gateway after 10 minutes", async (t) => {
	const { device, gateway } = await start(t, [home, guest]);
	const { connection } = await connected(device, gateway);
	const accepts = gateway.server.shouldHandle;
	const cutFor = async (ms: number) => {
		gateway.server.shouldHandle = () => false;
		for (const client of gateway.server.clients) client.terminate();
		await pass(device, ms);
		gateway.server.shouldHandle = accepts;
		return (await connected(device, gateway)).report.network.wifi_ssid;
	};
	await connection.query();
	assert.equal(await cutFor(9 * 60_000), "home");
	await pass(device, 60_000);
	assert.equal(await cutFor(11 * 60_000), "guest");
	assert.equal(await cutFor(11 * 60_000), "home");
});

describe("trial of a second network", () => {
	const onlyFirst = { ssid: "home", password: "home password" };
	const second = { ssid2: "guest", password2: "guest password" };
	const cases: readonly [
		name: string,
		accessPoints: readonly AccessPoint[],
		change: ChangedSettings,
		outcome: string,
		joined: string,
	][] = [
		["connects through it although the first one is stronger", [home, guest], second, "kept", "guest"],
		[
			"returns to the first network after a wrong password",
			[home, guest],
			{ ...second, password2: "wrong password" },
			'returned: the access point "guest" rejected the password',
			"home",
		],
	];
	for (const [name, accessPoints, change, outcome, joined] of cases)
		test(name, async (t) => {
			const { device, gateway, traced } = await start(t, accessPoints, onlyFirst);
			const first = await connected(device, gateway);
			first.connection.send({ command: "set_settings", value: change });
			const { connection, report } = await connected(device, gateway);
			assert.equal(report.network.wifi_ssid, joined);
			const result = await connection.next("settings_result");
			assert.equal(
				result.reason === undefined ? result.outcome : `${result.outcome}: ${result.reason}`,
				outcome,
			);
			const isKept = outcome === "kept";
			assert.equal(device.setting("ssid2"), isKept ? change.ssid2 : undefined);
			assert.equal(device.setting("password2"), isKept ? change.password2 : undefined);
			assert.doesNotMatch(traced.join(""), /guest password|wrong password|home password/);
		});

	test("removes the network with its password", async (t) => {
		const { device, gateway } = await start(t, [home, guest]);
		const { connection } = await connected(device, gateway);
		connection.send({ command: "set_settings", value: { ssid2: "" } });
		const again = await connected(device, gateway);
		assert.equal((await again.connection.next("settings_result")).outcome, "kept");
		assert.deepEqual([device.setting("ssid2"), device.setting("password2")], [undefined, undefined]);
	});
});
