import assert from "node:assert/strict";
import { test } from "node:test";
import { checkUplink } from "../../device/protocol/messages.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { bearer, Client, deviceToken, monitorToken } from "../support/running.js";

const rules = "test/hosts/virtual/xs/firmware/crashing-rules.ts";

interface ShownCrash {
	readonly id: string;
	readonly kind: string;
	readonly file: string | null;
	readonly line: number | null;
	readonly version: string | null;
}

async function crashesOf(url: string, deviceId: string): Promise<readonly ShownCrash[]> {
	const response = await fetch(`${url}/api/devices/${deviceId}`, { headers: bearer(monitorToken) });
	const { crashes }: { crashes: readonly ShownCrash[] } = JSON.parse(await response.text());
	return crashes;
}

test("a crash of a device in XS is reported once, even if the gateway is killed before and after it received the report", async (t) => {
	const environment = {
		DATA_DIR: await temporaryDirectory(t),
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
	};
	const first = startProcess(t, environment);
	const { Devices: address = "" } = await readStartupOutput(first);
	const { port, host } = new URL(address);
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial: "a1b2c3",
		settings: { gateway: address, token: deviceToken },
		program: await buildFirmware({ rules }),
		restartsAfterCrash: true,
	});
	onEnd(t, () => device.close());
	const kill = async (child: typeof first) => {
		child.kill("SIGKILL");
		await nextEvent(child, "exit");
	};
	const start = async () => {
		const child = startProcess(t, { ...environment, PORT: port });
		await readStartupOutput(child);
		const monitor = new Client(`ws://${host}/monitor`, { headers: bearer(monitorToken) });
		onEnd(t, () => monitor.socket.terminate());
		await nextEvent(monitor.socket, "open");
		return { child, monitor };
	};
	await kill(first);
	device.board.setButton("play", true);
	const second = await start();
	await second.monitor.change("crash");
	await kill(second.child);
	const third = await start();
	await third.monitor.until(({ message }) => checkUplink(message).problem === undefined);
	const crashes = await crashesOf(`http://${host}`, device.deviceId);
	const kinds = crashes.map(({ kind }) => kind);
	assert.deepEqual(kinds, ["exception"]);
});
