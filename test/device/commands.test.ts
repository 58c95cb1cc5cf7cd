import assert from "node:assert/strict";
import { test } from "node:test";
import { maxCommandBytes } from "../../device/protocol/messages.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil, powerOnInVirtualTime } from "../support/virtual-time.js";

test("closes the connection after a frame that is not JSON, is binary or is too long", async (t) => {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	for (const frame of [
		"{",
		"\u0000",
		Buffer.from('{"command":"query_state"}'),
		`"${"x".repeat(maxCommandBytes)}"`,
	]) {
		const connection = await passUntil(device, gateway.connection());
		await connection.next("state_report");
		connection.socket.send(frame);
		assert.equal(await passUntil(device, connection.closed), 1006);
	}
});

test("holds the longest commands in the heap, even beside an update's buffer", async (t) => {
	const { connection } = await powerOnInVirtualTime(t, "PROTO-1", { limits: { chunkBytes: 70_000 } });
	const cert_pem = `-----BEGIN CERTIFICATE-----${"x".repeat(4300)}-----END CERTIFICATE-----`;
	const update = { command: "start_ota", url: `http://127.0.0.1:1/${"x".repeat(2000)}`, cert_pem };
	connection.send({ command: "play_audio", value: "startup" });
	for (const command of [update, update, { command: "x".repeat(6600) }, { command: "😀".repeat(1600) }])
		connection.send(command);
	await connection.query();
});

test("closes the connection after a message with more values or levels than the heap holds", async (t) => {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	const names = Array.from({ length: 300 }, (_, index) => `"n${index}":1`);
	for (const text of [`${"[".repeat(3000)}${"]".repeat(3000)}`, `{${names}}`, `[${"1,".repeat(3000)}1]`]) {
		const connection = await passUntil(device, gateway.connection());
		await connection.next("state_report");
		connection.socket.send(text);
		assert.equal(await passUntil(device, connection.closed), 1006);
	}
});
