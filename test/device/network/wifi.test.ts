import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { AccessPoint } from "../../../hosts/virtual/node/board.js";
import { dark, red, ringOf } from "../../support/ring.js";
import { powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { nextConnection, pass } from "../../support/virtual-time.js";

/** Starts a device with the network "home" and the password "secret" in its settings. */
async function start(t: TestContext, ...accessPoints: readonly AccessPoint[]) {
	const gateway = await runScriptedGateway(t);
	const said: string[] = [];
	const states: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		settings: { gateway: gateway.url, token: "t", ssid: "home", password: "secret" },
		accessPoints,
		onTrace: (text) => {
			if (text.startsWith("Wi-Fi: ")) said.push(text);
			else if (text.startsWith("Wi-Fi ")) states.push(text.slice("Wi-Fi ".length).trim());
		},
	});
	await pass(device, 0);
	return { device, gateway, said, states };
}

describe("wrong password", () => {
	const accessPoint = { ssid: "home", rssi: -50, password: "other" };

	test("shows solid red, is logged and is retried about once a minute", async (t) => {
		const { device, said, states } = await start(t, accessPoint);
		for (let look = 0; look < 480; look++) {
			assert.equal(ringOf(device), red, `look ${look}`);
			await pass(device, 250);
		}
		assert.ok(said.length >= 3 && said.length <= 5, `${said.length} attempts in two minutes`);
		for (const text of said) assert.match(text, /"home" rejected the password/);
		assert.deepEqual(states, ["connecting", "failed"]);
	});

	test("is retried immediately when a button is pressed, and the device connects once it is accepted", async (t) => {
		const { device, gateway } = await start(t, accessPoint);
		await pass(device, 5000);
		device.board.accessPoints = [{ ssid: "home", rssi: -50, password: "secret" }];
		device.board.setButton("volumeUp", true);
		await pass(device, 20);
		const { network } = (await nextConnection(device, gateway)).report;
		assert.equal(network.wifi_ssid, "home");
		assert.ok(device.machine.now < 10_000, `connected after ${device.machine.now} ms`);
	});

	test("is retried as usual if it was right before: a weak signal ends the handshake in the same way", async (t) => {
		const { device, gateway, said, states } = await start(t, { ssid: "home", rssi: -50, password: "secret" });
		await (await gateway.connection()).next("state_report");
		device.board.accessPoints = [accessPoint];
		await pass(device, 10_000);
		assert.ok(said.length >= 4, `${said.length} attempts in ten seconds`);
		assert.equal(states.at(-1), "connecting");
	});
});

describe("absent access point", () => {
	test("is logged, and the ring flashes red until all retries are used up", async (t) => {
		const { device, said, states } = await start(t);
		const looks = new Set<string>();
		for (let look = 0; look < 16; look++) {
			looks.add(ringOf(device));
			await pass(device, 250);
		}
		assert.deepEqual(looks, new Set([red, dark]));
		for (const text of said) assert.match(text, /no access point "home" in reach/);
		await pass(device, 29_000);
		assert.deepEqual(states, ["connecting", "failed"]);
		assert.equal(said.length, 6);
	});
});

test("sends the device id as DHCP host name", async (t) => {
	const { device } = await start(t);
	for (let round = 0; round < 1000 && device.board.hostname === ""; round++) await setImmediate();
	assert.equal(device.board.hostname, "dev-1-020000a1b2c3");
});
