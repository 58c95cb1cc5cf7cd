/**
 * End of the firmware in the Moddable simulator: nothing keeps running, and the next start reports the reason to the
 * gateway.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { runScriptedGateway } from "../support/scripted-gateway.js";
import { builds } from "./builds.js";
import { findSimulator, SimulatedDevice } from "./simulated.js";

const { sdk, reason } = findSimulator();

describe("end of the firmware in the Moddable simulator", {
	skip: reason ?? false,
	timeout: 560_000,
	concurrency: 2,
}, () => {
	let app = "";
	before(async () => {
		if (sdk) app = (await builds(sdk, "DEV-1")).ending;
	});

	for (const [end, kind, message, stack, resetReason = "SW_RESET"] of [
		[
			"exception",
			"exception",
			"Error: the test's exception",
			/^at failOnPurpose \(test\/simulator\/xs\/ending\/ending\.ts:\d+\)\nat /,
		],
		[
			"rejection",
			"rejection",
			"Error: the test's rejection",
			/^at rejectOnPurpose \(test\/simulator\/xs\/ending\/ending\.ts:\d+\)\nat /,
		],
		[
			"watchdog",
			"watchdog",
			"task watchdog timeout",
			/^at runOnPurpose \(test\/simulator\/xs\/ending\/ending\.ts:\d+\)\nat /,
			"TASK_WDT_RESET",
		],
		["memory", "out_of_memory", "memory full", /^/],
		// XS has no memory left to call the abort hook, and calls it again for that.
		["texts", "out_of_memory", "JavaScript stack overflow, or heap completely full", /^/],
	] as const)
		test(`${end}: is reported after the next start, until the gateway has stored it`, async (t) => {
			if (!sdk) return;
			const gateway = await runScriptedGateway(t);
			const settings = { gateway: gateway.url, end };
			const device = await SimulatedDevice.start(t, { sdk, model: "DEV-1", app, settings, mayAbort: true });
			const first = await gateway.connection();
			const { system } = await first.next("state_report");
			await first.closed;
			const second = await gateway.connection();
			const { health } = await second.next("state_report");
			assert.equal(health.reset_reason, resetReason);
			const isEnd = (line: string) => line.startsWith("XS abort");
			assert.doesNotMatch(device.trace.slice(device.trace.findIndex(isEnd)).join("\n"), /lives on/);

			second.send({ command: "query_crash" });
			const { crash } = await second.next("crash_report");
			assert.ok(crash, device.trace.join("\n"));
			assert.deepEqual([crash.kind, crash.message], [kind, message]);
			assert.match(crash.stack, stack);
			assert.equal(crash.firmware_version, system.firmware_version);
			assert.ok(crash.uptime_seconds >= 2 && crash.uptime_seconds < 60, `${crash.uptime_seconds} s`);
			assert.match(crash.trace, new RegExp(`^started after POWERON_RESET\n[^]*\nnow: ${end}\n`));
			if (kind === "exception") assert.equal(crash.file, "test/simulator/xs/ending/ending.ts");

			second.send({ command: "clear_crash", id: crash.id });
			second.send({ command: "query_crash" });
			const cleared = await second.next("crash_report");
			assert.equal(cleared.crash, undefined);
		});

	test("a requested restart is no crash", async (t) => {
		if (!sdk) return;
		const gateway = await runScriptedGateway(t);
		const settings = { gateway: gateway.url, end: "restart" };
		const device = await SimulatedDevice.start(t, { sdk, model: "DEV-1", app, settings });
		await (await gateway.connection()).closed;
		const second = await gateway.connection();
		await second.next("state_report");
		second.send({ command: "query_crash" });
		const { crash } = await second.next("crash_report");
		assert.equal(crash, undefined);
		const started = device.trace.filter((line) => line.startsWith("started after"));
		assert.deepEqual(started, ["started after POWERON_RESET", "started after SW_RESET"]);
	});
});
