import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { deferred } from "../support/eventually.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";

/** Serves the first `byteCount` bytes, and the rest when the test allows it. */
async function runSlowServer(t: TestContext, image: Buffer, byteCount: number) {
	const authorizations: (string | undefined)[] = [];
	const { promise: released, resolve: release } = deferred();
	const server = createServer(async (request, response) => {
		authorizations.push(request.headers.authorization);
		response.writeHead(200, { "Content-Length": image.length });
		response.write(image.subarray(0, byteCount));
		await released;
		response.end(image.subarray(byteCount));
	});
	return { url: `http://127.0.0.1:${await listen(t, server)}/firmware.bin`, authorizations, release };
}

test("during an update the ring shows 6, the player stops, commands work, and a second update is busy", async (t) => {
	const gateway = await runScriptedGateway(t);
	const { bytes } = await buildFirmware();
	const server = await runSlowServer(t, makeVirtualImage(bytes, "DEV-1", "2.0.0"), 50_000);
	const device = await powerOn(t, gateway, "DEV-1", { version: "1.0.0" });
	const connection = await gateway.connection();
	await connection.next("state_report");
	connection.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin", cert_pem: "none" });
	await connection.next("ota_error");
	connection.send({ command: "play_audio", value: "startup" });
	await connection.next("state_report", ({ peripherals }) => peripherals.audio.player_state === "playing");

	connection.send({ command: "identify" });
	connection.send({ command: "start_ota", url: server.url });
	const updating = await connection.next(
		"state_report",
		({ peripherals }) => peripherals.led_ring.state_id === 6,
	);
	assert.equal(updating.peripherals.led_ring.state_name, "updating");
	const { player_state, current_track } = updating.peripherals.audio;
	assert.deepEqual([player_state, current_track], ["stopped", "none"]);
	await connection.next("ota_progress");
	const [red, green] = device.board.pixels;
	assert.deepEqual([red, green], [0, 0], "the update's blue, not the white of identify");

	for (const command of [
		{ command: "start_ota", url: server.url },
		{ command: "set_led", value: "rainbow" },
		{ command: "play_audio", value: "startup" },
		{ command: "identify" },
		{ command: "restart" },
	]) {
		connection.send(command);
		const { code, command: rejected } = await connection.next("command_error");
		assert.deepEqual({ code, rejected }, { code: "busy", rejected: command.command });
	}
	connection.send({ command: "set_volume", value: 7 });
	const report = await connection.next("state_report", ({ peripherals }) => peripherals.audio.volume === 7);
	assert.equal(report.peripherals.led_ring.state_id, 6);
	assert.equal(report.system.firmware_version, "1.0.0");

	server.release();
	await connection.next("ota_complete");
	const again = await gateway.connection();
	const after = await again.next("state_report");
	assert.equal(after.system.firmware_version, "2.0.0");
	assert.equal(after.peripherals.led_ring.state_id, 5);
	assert.equal(after.peripherals.audio.volume, 7, "settings survive the restart");
	assert.equal(device.started.slot, 1);
	assert.deepEqual(server.authorizations, [undefined], "other servers than the gateway do not get the token");
});
