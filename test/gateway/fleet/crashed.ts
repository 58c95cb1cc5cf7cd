/** Gateways that receive crashes, and their crash lists. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Crash } from "../../../device/protocol/messages.js";
import type { CrashList } from "../../../gateway/api/crash-causes.js";
import { type CrashCause, Events } from "../../../gateway/events.js";
import type { GatewayOptions } from "../../../gateway/gateway.js";
import type { Device } from "../../../gateway/sessions/device.js";
import { eventually } from "../../support/eventually.js";
import { type RunningGateway, runGateway } from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

export function crashOf(id: string, changes: Partial<Crash> = {}): Crash {
	return {
		id,
		kind: "exception",
		message: `TypeError: no face ${Number.parseInt(id, 16)}`,
		file: "device/rules.ts",
		line: 31,
		stack: `at onButton (device/rules.ts:${id.length})\nat device/main.ts:7`,
		firmware_version: "1.4.0",
		uptime_seconds: 61,
		trace: "",
		...changes,
	};
}

/** Gateway with the events of new causes. */
export async function run(t: TestContext, options: GatewayOptions = {}) {
	const told: { readonly device: Device; readonly cause: CrashCause }[] = [];
	const events = new Events();
	events.on({ crashCause: (device, cause) => told.push({ device, cause }) });
	const gateway = await runGateway(t, { ...options, events });
	return { gateway, told };
}

export async function crashes({ api }: RunningGateway): Promise<CrashList> {
	return (await api("GET", "/api/crashes")).body;
}

export function until(gateway: RunningGateway, isComplete: (list: CrashList) => boolean): Promise<CrashList> {
	return eventually(() => crashes(gateway), isComplete);
}

export const countOf = ({ causes }: CrashList) => causes.reduce((sum, { count }) => sum + count, 0);

/** Connects a device that reports this crash. */
export async function crashed(gateway: RunningGateway, deviceId: string, crash: Crash): Promise<void> {
	const device = await gateway.device({ "Device-Id": deviceId, "Device-Features": "crash" });
	device.send(withField({ ...sampleReport("DEV-1"), deviceId }, "system.firmware_version", "1.4.0"));
	assert.equal((await device.next()).command, "query_crash");
	device.send({ type: "crash_report", deviceId, crash });
	assert.deepEqual(await device.next(), { command: "clear_crash", id: crash.id });
}
