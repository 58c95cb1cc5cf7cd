import assert from "node:assert/strict";
import { test } from "node:test";
import { powerOn, runScriptedGateway } from "./scripted-gateway.js";

test("a device checks for itself what reaches it, answers what is wrong and changes nothing", async (t) => {
	const gateway = await runScriptedGateway(t);
	await powerOn(t, gateway, "DEV-1");
	const connection = await gateway.connection();
	const before = await connection.next("state_report");
	for (const [command, name, code] of [
		[{ command: "set_volume", value: 101 }, "set_volume", "invalid_value"],
		[{ command: "set_haptics", value: 50 }, "set_haptics", "unsupported"],
		[{ command: "reboot" }, "reboot", "unknown_command"],
		[{ command: "x".repeat(100) }, "x".repeat(64), "unknown_command"],
		[{ command: 7 }, "", "unknown_command"],
		[[], "", "unknown_command"],
		[null, "", "unknown_command"],
	] as const) {
		connection.send(command);
		const error = await connection.next("command_error");
		assert.deepEqual({ command: error.command, code: error.code }, { command: name, code });
		assert.match(error.message, /must be|PROTO-1 only/);
	}
	const after = await connection.query();
	assert.deepEqual(after.peripherals, before.peripherals);
});

test("a frame that is not JSON, binary or too long ends the connection: what follows it cannot be trusted", async (t) => {
	const gateway = await runScriptedGateway(t);
	await powerOn(t, gateway);
	for (const frame of ["{", "\u0000", Buffer.from('{"command":"query_state"}'), `"${"x".repeat(25_000)}"`]) {
		const connection = await gateway.connection();
		await connection.next("state_report");
		connection.socket.send(frame);
		assert.equal(await connection.closed, 1006);
	}
});
