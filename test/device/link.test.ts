import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil, powerOnInVirtualTime } from "../support/virtual-time.js";

test("a device sends its id, firmware version and the gateway's host when it connects", async (t) => {
	const gateway = await runScriptedGateway(t);
	await powerOn(t, gateway, "PROTO-1");
	const { headers } = await gateway.connection();
	assert.equal(headers.authorization, "Bearer device-token-of-the-tests");
	assert.equal(headers["device-id"], "proto-1-020000a1b2c3");
	assert.equal(headers["device-model"], "PROTO-1");
	assert.equal(headers["device-chip"], "virtual");
	assert.equal(headers["protocol-version"], "1");
	assert.equal(headers.host, new URL(gateway.url).host, "includes the port");
});

test("a device reconnects after a close, a lost connection and a lost access point", async (t) => {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	const connected = () => passUntil(device, gateway.connection());
	for (const lose of [
		async () => (await connected()).socket.close(1000),
		async () => (await connected()).socket.terminate(),
		async () => {
			const connection = await connected();
			await connection.next("state_report");
			device.board.accessPoints = [];
			assert.equal(
				await passUntil(device, connection.closed),
				1000,
				"normal closure, where it can still be sent",
			);
			device.board.accessPoints = [{ ssid: "virtual", rssi: -60 }];
		},
	])
		await lose();
	const connection = await connected();
	const report = await connection.next("state_report");
	assert.equal(report.network.wifi_rssi, -60);
});

test("drops rejections that the gateway does not read, so that they never fill the heap", async (t) => {
	const { connection } = await powerOnInVirtualTime(t, "DEV-1");
	let bytes = 0;
	connection.socket.on("message", (data) => {
		const text = data.toString();
		if (text.includes("command_error")) bytes += text.length;
	});
	for (let index = 0; index < 200; index++) connection.send({ command: "x".repeat(64) });
	await connection.query();
	// The write window, and 16 KiB in the queue.
	assert.ok(bytes > 16_000 && bytes < 5744 + 16_384, `${bytes} bytes of rejections`);
});

test("reassembles a fragmented command with multibyte characters", async (t) => {
	const gateway = await runScriptedGateway(t);
	await powerOn(t, gateway);
	const connection = await gateway.connection();
	const name = "ä€😀".repeat(500);
	const bytes = Buffer.from(JSON.stringify({ command: name }));
	connection.socket.send(bytes.subarray(0, 1001), { binary: false, fin: false });
	connection.socket.send(bytes.subarray(1001), { binary: false, fin: true });
	const error = await connection.next("command_error");
	// XS counts code points where Node counts UTF-16 units.
	assert.equal(error.command, [...name].slice(0, 64).join(""));
});
