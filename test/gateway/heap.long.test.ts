import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import { sampleReport } from "../../scripts/api/sample-report.js";
import { waitUntil } from "../support/eventually.js";
import { readStartupOutput, startProcess } from "../support/gateway-process.js";
import { bearer, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";

/** Number of devices whose reports let V8 adapt to the lifetime of their garbage. */
const deviceCount = 600;
const reportsEach = 100;
/** One address exceeds its connection rate, and other systems have only one loopback address. */
const skip = process.platform === "linux" ? false : "needs 127.0.0.2 and those after it";

test("never causes a full garbage collection by relayed reports", { skip }, async (t) => {
	const environment = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken, LOG_LEVEL: "silent" };
	const child = startProcess(t, { ...environment, DATA_DIR: await temporaryDirectory(t) });
	const { Devices: url = "" } = await readStartupOutput(child);
	const { origin } = new URL(url.replace("ws", "http"));
	const figure = async (name: string) => {
		const text = await (await fetch(`${origin}/metrics`, { headers: bearer(monitorToken) })).text();
		const line = text.split("\n").find((candidate) => candidate.startsWith(name));
		return Number(line?.split(" ")[1] ?? 0);
	};
	const uplinks = 'gateway_uplinks_total{type="state_report"}';
	const markings = 'nodejs_gc_duration_seconds_count{kind="major"}';

	const reports = Array.from({ length: deviceCount }, (_, index) =>
		JSON.stringify({ ...sampleReport("DEV-1"), deviceId: `dev-1-${index}` }),
	);
	const sockets = await Promise.all(reports.map((report, index) => connect(url, report, index)));
	t.after(() => {
		for (const socket of sockets) socket.terminate();
	});
	let sent = deviceCount;
	const isHeard = async () => {
		await waitUntil(async () => (await figure(uplinks)) >= sent);
	};
	await isHeard();
	const before = await figure(markings);
	for (let round = 0; round < reportsEach; round += 1) {
		for (const [index, socket] of sockets.entries()) socket.send(reports[index] ?? "");
		sent += deviceCount;
		// Unread data is not garbage yet.
		await isHeard();
	}
	const marked = (await figure(markings)) - before;
	assert.ok(marked <= 1, `${marked} times during ${deviceCount * reportsEach} reports`);
});

/** Connects a device that reports immediately and honors Retry-After. */
async function connect(url: string, report: string, index: number): Promise<WebSocket> {
	for (;;) {
		const socket = new WebSocket(url, {
			headers: bearer(deviceToken),
			localAddress: `127.0.0.${2 + (index % 50)}`,
		});
		const isOpen = await new Promise<boolean>((resolve) => {
			socket.once("open", () => resolve(true));
			socket.once("error", () => resolve(false));
		});
		if (isOpen) {
			socket.send(report);
			return socket;
		}
		await setTimeout(200);
	}
}
