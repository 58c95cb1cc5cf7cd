/** Crash reports of virtual devices at a gateway, and compatibility between old and new firmware and gateways. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, type TestContext, test } from "node:test";
import { WebSocketServer } from "ws";
import type { ButtonName } from "../../device/host.js";
import { checkUplink, uplinks } from "../../device/protocol/messages.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { sampleReport } from "../../scripts/api/sample-report.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { portOf } from "../support/ports.js";
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

describe("crash of a device", () => {
	for (const [kind, cause] of [
		["exception", "play"],
		["rejection", "mute"],
		["out_of_memory", "volumeUp"],
		["watchdog", "volumeDown"],
		["panic", (device: VirtualDevice) => process.kill(device.machine.pid ?? 0, "SIGSEGV")],
		["brown_out", (device: VirtualDevice) => device.brownOut()],
	] as const satisfies readonly (readonly [string, ButtonName | ((device: VirtualDevice) => unknown)])[])
		test(`${kind} is reported once, after its return`, async (t) => {
			const fleet = await runFleet(t);
			const { device, deviceId, report } = await fleet.powerOn("DEV-1", {
				program: await buildFirmware({ rules }),
				version: "1.4.0",
				restartsAfterCrash: true,
				watchdogMs: 300,
			});
			await report();
			if (typeof cause === "string") device.board.setButton(cause, true);
			else await cause(device);
			await fleet.monitorClient.change("connected");
			const { crashCount } = await fleet.monitorClient.change("crash");
			assert.equal(crashCount, 1);
			const [crash, ...others] = await crashesOf(fleet.url, deviceId);
			assert.equal(others.length, 0);
			assert.equal(crash?.kind, kind);
			assert.equal(crash.version, "1.4.0");
			if (typeof cause === "string") assert.deepEqual([crash.file, Number(crash.line) > 0], [rules, true]);
			await device.powerCycle();
			await report(({ health }) => health.reset_reason === "POWERON_RESET");
			assert.equal((await crashesOf(fleet.url, deviceId)).length, 1);
		});
});

test("is reported once, even if the gateway is killed before and after it received the report", async (t) => {
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
	assert.deepEqual(
		crashes.map(({ kind }) => kind),
		["exception"],
	);
});

describe("compatibility", () => {
	test("new firmware at a gateway without crash reports sends nothing that it would drop", async (t) => {
		const server = await oldGateway(t);
		const device = await VirtualDevice.start({
			model: "DEV-1",
			serial: "a1b2c3",
			settings: { gateway: server.url, token: deviceToken },
			program: await buildFirmware({ rules }),
			restartsAfterCrash: true,
		});
		onEnd(t, () => device.close());
		await server.report();
		device.board.setButton("play", true);
		await server.connection();
		await server.report();
		await server.report();
		assert.deepEqual([...server.types], ["state_report"]);
	});

	test("old firmware at this gateway gets no crash query and works", async (t) => {
		const fleet = await runFleet(t);
		const asked: string[] = [];
		const old = await fleet.device({ "Device-Id": "dev-1-0ld000", "Device-Features": "identify" });
		old.socket.on("message", (data) => asked.push(JSON.parse(data.toString()).command));
		old.send({ ...sampleReport("DEV-1"), deviceId: "dev-1-0ld000" });
		await fleet.monitorClient.change("identified");
		const command = { command: "set_log", level: "info", seconds: 10 };
		for (const payload of [command, { command: "query_crash" }, { command: "query_state" }])
			await fleet.monitorClient.request({ type: "control_device", targetId: "dev-1-0ld000", payload });
		await old.until(({ command }) => command === "query_state");
		assert.deepEqual(asked, ["query_state"]);
		assert.deepEqual(await crashesOf(fleet.url, "dev-1-0ld000"), []);
	});
});

/** Uplinks known to a gateway before crash reports, which sends no query. */
async function oldGateway(t: TestContext) {
	const { crash_report: _crash, log: _log, ...known } = uplinks;
	const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
	await nextEvent(server, "listening");
	onEnd(t, () => {
		for (const client of server.clients) client.terminate();
		server.close();
	});
	const port = portOf(server);
	const types = new Set<string>();
	let onReport = () => {};
	server.on("connection", (socket) => {
		socket.on("message", (data) => {
			const { type }: { type: string } = JSON.parse(data.toString());
			types.add(type in known ? type : `dropped ${type}`);
			onReport();
		});
	});
	return {
		url: `ws://127.0.0.1:${port}/device`,
		types,
		connection: () => once(server, "connection"),
		report: () =>
			new Promise<void>((resolve) => {
				onReport = resolve;
			}),
	};
}
