import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { describe, type TestContext, test } from "node:test";
import type { ChangedSettings } from "../../device/protocol/messages.js";
import type { VirtualDevice, VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { Authority } from "../support/certificates.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { listen } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { powerOn, runScriptedGateway, type ScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil } from "../support/virtual-time.js";

const address = "IP:127.0.0.1";

const setSettings = (value: ChangedSettings) => ({ command: "set_settings", value });

/** Connects a device in virtual time. */
async function start(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		...options,
		settings: { gateway: gateway.url, token: "previous-token", ...options.settings },
	});
	return { gateway, device, connection: await connected(device, gateway) };
}

/** Next connection of a device, across its restarts, and its first report. */
async function connected(device: VirtualDevice, gateway: ScriptedGateway) {
	const connection = await passUntil(device, gateway.connection());
	await connection.next("state_report");
	return connection;
}

test("follows a gateway to its new address and stays there", async (t) => {
	const traced: string[] = [];
	const { device, connection } = await start(t, { onTrace: (text) => traced.push(text) });
	const moved = await runScriptedGateway(t);
	connection.send(setSettings({ gateway: moved.url, token: "next-token" }));
	const closed = await passUntil(device, connection.closed);
	assert.equal(closed, 1000, "closes in order before it restarts");
	const there = await connected(device, moved);
	assert.equal(there.headers.authorization, "Bearer next-token");
	const { outcome, reason } = await there.next("settings_result");
	assert.deepEqual([outcome, reason], ["kept", undefined]);
	await device.powerCycle();
	const again = await connected(device, moved);
	assert.equal(again.headers.authorization, "Bearer next-token");
	again.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin" });
	await passUntil(device, again.next("ota_error"));
	assert.notEqual(traced.length, 0);
	assert.doesNotMatch(traced.join(""), /previous-token|next-token/);
});

/** Address of a server that rejects every token. */
async function runRefusing(t: TestContext): Promise<string> {
	const server = createServer();
	server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n"));
	return `ws://127.0.0.1:${await listen(t, server)}/device`;
}

describe("reverts wrong settings after 120 s and reports the reason:", () => {
	const wrong: readonly [string, (t: TestContext) => ChangedSettings | Promise<ChangedSettings>, string][] = [
		[
			"another network",
			() => ({ ssid: "elsewhere", password: "" }),
			'there is no access point "elsewhere" in reach',
		],
		[
			"a wrong password",
			() => ({ password: "wrong password" }),
			'the access point "virtual" rejected the password',
		],
		[
			"no gateway at the address",
			() => ({ gateway: "ws://127.0.0.1:1/device" }),
			"no connection to 127.0.0.1:1",
		],
		[
			"no TLS at the address",
			() => ({ gateway: "wss://127.0.0.1:1/device" }),
			"no connection to 127.0.0.1:1",
		],
		[
			"unknown host name",
			() => ({ gateway: "ws://nowhere.invalid/device" }),
			"the name nowhere.invalid was not found",
		],
		[
			"rejected token",
			async (t) => ({ gateway: await runRefusing(t) }),
			"the gateway rejected the token (401)",
		],
	];
	for (const [name, change, reason] of wrong)
		test(name, async (t) => {
			const password = "right password";
			const { device, gateway, connection } = await start(t, {
				accessPoint: { ssid: "virtual", rssi: -50, password },
				settings: { password },
			});
			connection.send(setSettings({ token: "next-token", ...(await change(t)) }));
			const back = await connected(device, gateway);
			assert.equal(back.headers.authorization, "Bearer previous-token");
			const result = await back.next("settings_result");
			assert.deepEqual([result.outcome, result.reason], ["returned", reason]);
			const { health } = await back.query();
			assert.equal(health.reset_reason, "SW_RESET");
			assert.ok(health.uptime_seconds < 120, "uptime since the trial");
		});
});

describe("reverts settings with an untrusted TLS gateway and reports the reason:", {
	skip: whyMissing("openssl"),
}, () => {
	for (const [name, issue, isGiven, reason, clock] of [
		["an expired certificate", (from: Authority) => from.issue(address, -1), true, /: TLS: .* has expired$/],
		[
			"unset clock",
			(from: Authority) => from.issue(address),
			true,
			/: TLS: .* is valid from 20\d\d-.*, but the device's clock shows 1970-/,
			{ buildTime: 0, wallClock: undefined },
		],
		[
			"certificate for another name",
			(from: Authority) => from.issue("DNS:gateway.lan"),
			true,
			/: TLS: the server's certificate is for gateway\.lan, not for 127\.0\.0\.1/,
		],
		[
			"unknown authority",
			(from: Authority) => from.issue(address),
			false,
			/: TLS: the server's certificate was not issued by the device's authority/,
		],
	] as const)
		test(name, async (t) => {
			const authority = new Authority(await temporaryDirectory(t), "authority");
			const port = await listen(t, createSecureServer(issue(authority)));
			const { device, gateway, connection } = await start(t, clock);
			connection.send(
				setSettings({
					gateway: `wss://127.0.0.1:${port}/device`,
					...(isGiven && { ca: authority.certificate }),
				}),
			);
			const back = await connected(device, gateway);
			const result = await back.next("settings_result");
			assert.equal(result.outcome, "returned");
			assert.match(result.reason ?? "", /^no connection to 127\.0\.0\.1:\d+: TLS/);
			assert.match(result.reason ?? "", reason);
		});
});

test("rejects new settings while an update runs", async (t) => {
	const { connection } = await start(t);
	connection.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin" });
	connection.send(setSettings({ token: "next-token" }));
	const { command, code, message } = await connection.next("command_error");
	assert.deepEqual([command, code], ["set_settings", "busy"]);
	assert.match(message, /update is running/);
});

test("rejects unusable settings immediately without a restart", async (t) => {
	const { connection } = await start(t);
	for (const [value, sentence] of [
		[
			{},
			/value must be an object with at least one of ssid, password, ssid2, password2, gateway, token, ca, sntp, and nothing else/,
		],
		[{ token: "t", tokn: "t" }, /and nothing else/],
		[{ ssid: "" }, /value\.ssid must be the name of a Wi-Fi network/],
		[{ gateway: "http://a" }, /value\.gateway must be an address like ws/],
		[{ gateway: "ws://a:99999" }, /port must be from 1 to 65535/],
		[{ token: "" }, /value\.token must be a token without spaces/],
		[{ password: "short" }, /value\.password must be empty, or a WPA password/],
		[{ ssid2: "a\n" }, /value\.ssid2 must be empty, or the name of a Wi-Fi network/],
		[{ ssid2: "é".repeat(17) }, /ssid2 must be at most 32 bytes long/],
		[{ password2: "long enough" }, /password2 requires ssid2/],
		[{ ca: "none" }, /ca must be a certificate in PEM/],
	] as const) {
		connection.send({ command: "set_settings", value });
		const { command, code, message } = await connection.next("command_error");
		assert.deepEqual([command, code], ["set_settings", "invalid_value"]);
		assert.match(message, sentence);
	}
	await connection.query();
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
	const again = await connected(device, gateway);
	assert.equal((await again.next("settings_result")).outcome, "kept");
	assert.equal(device.setting("ca"), "A".repeat(3996));
});
