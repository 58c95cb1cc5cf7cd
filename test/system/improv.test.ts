/** Provisioning over the serial port, up to the connection to a running gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceTokenOf } from "../../gateway/access/secrets.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd } from "../support/cleanup.js";
import { runFleet } from "../support/fleet.js";
import { ImprovClient } from "../support/improv-client.js";
import { deviceToken } from "../support/running.js";

test("provisions a device over its serial port after a wrong password, and the device joins the fleet", async (t) => {
	const { url, monitorClient } = await runFleet(t);
	const device = await VirtualDevice.start({
		model: "PROTO-1",
		serial: "c0ffee",
		settings: { ssid: "" },
		accessPoint: { ssid: "home", rssi: -50, password: "correct horse" },
	});
	onEnd(t, () => device.close());
	const client = new ImprovClient(device.board);
	client.give({
		gateway: `${url.replace("http", "ws")}/device`,
		token: deviceTokenOf(deviceToken, device.deviceId),
	});
	client.join("home", "wrong horse");
	await client.hears("error 3");
	client.join("home", "correct horse");
	await client.hears(`result 1: ${url}/`);
	assert.equal((await monitorClient.change("connected")).deviceId, device.deviceId);
});
