import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import type { ChangedSettings } from "../../device/protocol/messages.js";
import type { VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { nextConnection, passUntil } from "../support/virtual-time.js";

const setSettings = (value: ChangedSettings) => ({ command: "set_settings", value });

/** Connects a device in virtual time. */
async function start(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		...options,
		settings: { gateway: gateway.url, token: "previous-token", ...options.settings },
	});
	return { gateway, device, connection: (await nextConnection(device, gateway)).connection };
}

test("follows a gateway to its new address and stays there", async (t) => {
	const traced: string[] = [];
	const { device, connection } = await start(t, { onTrace: (text) => traced.push(text) });
	const moved = await runScriptedGateway(t);
	connection.send(setSettings({ gateway: moved.url, token: "next-token" }));
	const closed = await passUntil(device, connection.closed);
	assert.equal(closed, 1000, "closes in order before it restarts");
	const { connection: there } = await nextConnection(device, moved);
	assert.equal(there.headers.authorization, "Bearer next-token");
	const { outcome, reason } = await there.next("settings_result");
	assert.deepEqual([outcome, reason], ["kept", undefined]);
	await device.powerCycle();
	const { connection: again } = await nextConnection(device, moved);
	assert.equal(again.headers.authorization, "Bearer next-token");
	again.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin" });
	await passUntil(device, again.next("ota_error"));
	assert.notEqual(traced.length, 0);
	assert.doesNotMatch(traced.join(""), /previous-token|next-token/);
});

/** Address of a server that rejects every token. */
async function runRejecting(t: TestContext): Promise<string> {
	const server = createServer();
	server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n"));
	return `ws://127.0.0.1:${await listen(t, server)}/device`;
}

for (const [name, change, reason] of [
	["a password", () => ({ password: "wrong password" }), 'the access point "virtual" rejected the password'],
	[
		"a token",
		async (t: TestContext) => ({ gateway: await runRejecting(t) }),
		"the gateway rejected the token (401)",
	],
] as const)
	test(`reverts ${name} that is rejected after 120 s, and reports the reason`, async (t) => {
		const password = "right password";
		const { device, gateway, connection } = await start(t, {
			accessPoints: [{ ssid: "virtual", rssi: -50, password }],
			settings: { password },
		});
		connection.send(setSettings({ token: "next-token", ...(await change(t)) }));
		const { connection: back } = await nextConnection(device, gateway);
		assert.equal(back.headers.authorization, "Bearer previous-token");
		const result = await back.next("settings_result");
		assert.deepEqual([result.outcome, result.reason], ["returned", reason]);
		const { health } = await back.query();
		assert.equal(health.reset_reason, "SW_RESET");
		assert.ok(health.uptime_seconds < 120, "uptime since the trial");
	});

test("rejects invalid settings without a restart", async (t) => {
	const { connection } = await start(t);
	for (const [value, sentence] of [
		[{ token: "" }, /value\.token must be a token/],
		[{ ca: "none" }, /ca must be a certificate in PEM/],
	] as const) {
		connection.send(setSettings(value));
		const { code, message } = await connection.next("command_error");
		assert.equal(code, "invalid_value");
		assert.match(message, sentence);
	}
});

test("holds the longest settings in the heap, beside an update's buffer", async (t) => {
	const { connection, device, gateway } = await start(t, { limits: { chunkBytes: 70_000 } });
	connection.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin" });
	await passUntil(device, connection.next("ota_error"));
	const base64 = "A".repeat(3996).replace(/.{64}/g, "$&\n");
	const ca = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
	connection.send(
		setSettings({
			ca,
			token: "t".repeat(256),
			sntp: "s".repeat(253),
			ssid: "virtual",
			password: "\\".repeat(63),
			ssid2: "é".repeat(16),
			password2: "\\".repeat(63),
		}),
	);
	const { connection: again } = await nextConnection(device, gateway);
	assert.equal((await again.next("settings_result")).outcome, "kept");
	assert.equal(device.setting("ca"), "A".repeat(3996));
	assert.equal(device.board.timeServer, "s".repeat(253));
});
