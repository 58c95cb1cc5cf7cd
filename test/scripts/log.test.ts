import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callCommand, runCommand } from "../support/command-line.js";
import { monitorToken, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";

const deviceId = "dev-1-a1b2c3";

describe("npm run log", () => {
	test("prints a device's trace, even after it has reconnected, until its time is over", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId, logLines: "one\ntwo\n" }).connect();
		t.after(() => device.close());
		const words = [deviceId, "--gateway", url, "--seconds", "600"];
		const log = runCommand(t, "scripts/log.ts", words, { MONITOR_TOKEN: monitorToken });
		await log.printed(/^one\ntwo\n$/);
		device.log("three\n", 1, 2);
		await log.printed(/two\n\(2 lines did not fit\)\nthree\n$/);
		device.close();
		const back = await new ScriptedDevice({ url, deviceId, logLines: "three\nfour\n" }).connect();
		t.after(() => back.close());
		await log.printed(/three\nfour\n$/);
		log.process.kill("SIGINT");
		assert.equal(await log.exitCode, 0);
		const asked = [...device.commands, ...back.commands];
		assert.deepEqual(
			asked.map(({ command, level }) => `${command} ${level}`),
			["set_log info", "set_log info", "set_log off"],
		);
	});

	test("escapes terminal control characters", async (t) => {
		const { url } = await runGateway(t);
		const clipboard = "\x1b]52;c;cm0gLXJm\x07";
		const title = "\x9d0;title\x9c";
		const device = await new ScriptedDevice({
			url,
			deviceId,
			logLines: `a\tb\u{1f600} ${clipboard} ${title} over\rwritten \u202egnp.exe\nend\n`,
		}).connect();
		t.after(() => device.close());
		const words = [deviceId, "--gateway", url];
		const log = runCommand(t, "scripts/log.ts", words, { MONITOR_TOKEN: monitorToken });
		await log.printed(/end\n$/);
		assert.equal(
			log.output(),
			"a\tb\u{1f600} \\x1b]52;c;cm0gLXJm\\x07 \\x9d0;title\\x9c over\\x0dwritten \\u202egnp.exe\nend\n",
		);
	});

	test("ends by itself", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId }).connect();
		t.after(() => device.close());
		const words = [deviceId, "--gateway", url, "--seconds", "1"];
		assert.equal((await callCommand("scripts/log.ts", words, { MONITOR_TOKEN: monitorToken })).code, 0);
	});

	test("explains what to do about a rejected token", async (t) => {
		const { url } = await runGateway(t);
		const token = { MONITOR_TOKEN: "not-the-monitor-token" };
		const { code, output } = await callCommand("scripts/log.ts", [deviceId, "--gateway", url], token);
		assert.equal(code, 1);
		assert.match(output, /Monitor token rejected by .*\. Set MONITOR_TOKEN, or set DATA_DIR/);
	});

	test("lists the devices if the gateway does not know this one", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-000002" }).connect();
		t.after(() => device.close());
		const { code, output } = await callCommand("scripts/log.ts", [deviceId, "--gateway", url], {
			MONITOR_TOKEN: monitorToken,
		});
		assert.equal(code, 1);
		assert.match(output, /^Device dev-1-a1b2c3 not found; there is dev-1-000002\.$/m);
	});

	for (const [what, words, env, message] of [
		["no device", [], {}, /Specify a device id/],
		["two devices", [deviceId, "dev-1-000000"], {}, /Specify one device\./],
		["an invalid device id", ["a b"], {}, /"a b" is not a device id/],
		["too long a time", [deviceId, "--seconds", "601"], {}, /--seconds must be a whole number from 1 to 600/],
		["an invalid address", [deviceId, "--gateway", "here"], {}, /--gateway must be an address/],
		[
			"no token",
			[deviceId],
			{ DATA_DIR: "/no/such/folder" },
			/no monitor token was found\. Set MONITOR_TOKEN/,
		],
	] as const)
		test(`rejects ${what}`, async () => {
			const { code, output } = await callCommand("scripts/log.ts", words, env);
			assert.equal(code, 1);
			assert.match(output, message);
		});
});
