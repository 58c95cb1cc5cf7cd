import assert from "node:assert/strict";
import { test } from "node:test";
import { checkUplink } from "../../device/protocol/messages.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { call } from "../support/call.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { GatewayProcess } from "../support/gateway-process.js";
import { freePort } from "../support/ports.js";
import { bearer, Client, deviceToken, monitorToken } from "../support/running.js";

const rules = "test/hosts/virtual/xs/firmware/crashing-rules.ts";

test("a crash of a device in XS is reported once, even if the gateway is killed before and after it received the report", async (t) => {
	const gateway = new GatewayProcess(t, await freePort(), {
		DATA_DIR: await temporaryDirectory(t),
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
	});
	const address = gateway.url.replace("http", "ws");
	await gateway.start();
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial: "a1b2c3",
		settings: { gateway: `${address}/device`, token: deviceToken },
		program: await buildFirmware({ rules }),
		restartsAfterCrash: true,
	});
	onEnd(t, () => device.close());
	const start = async () => {
		await gateway.start();
		const monitor = new Client(`${address}/monitor`, { headers: bearer(monitorToken) });
		onEnd(t, () => monitor.socket.terminate());
		await nextEvent(monitor.socket, "open");
		return monitor;
	};
	await gateway.kill();
	device.board.setButton("play", true);
	await (await start()).change("crash");
	await gateway.kill();
	await (await start()).until(({ message }) => checkUplink(message).problem === undefined);
	const { crashes } = await call<{ crashes: { kind: string }[] }>(
		gateway.url,
		"GET",
		`devices/${device.deviceId}`,
	);
	const kinds = crashes.map(({ kind }) => kind);
	assert.deepEqual(kinds, ["exception"]);
});
