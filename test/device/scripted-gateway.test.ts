import assert from "node:assert/strict";
import { test } from "node:test";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";

test("reports each uplink that the gateway would drop", async (t) => {
	const gateway = await runScriptedGateway(t);
	const program = await buildFirmware({
		"peripherals/ambient-light": "test/hosts/virtual/xs/firmware/subnormal-light.ts",
	});
	const device = await powerOn(t, gateway, "PROTO-1", { program });
	const connection = await gateway.connection();
	await assert.rejects(
		connection.next("state_report"),
		/would drop an uplink: .*ambient_light must be an integer/,
	);
	await device.close();
	await connection.closed;
	assert.equal(new Set(gateway.invalidUplinks.splice(0)).size, 1);
});
