import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { callCommand, runCommand } from "../support/command-line.js";
import { eventually } from "../support/eventually.js";
import { monitorToken, runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";

const deviceId = "dev-1-a1b2c3";
const ofMonitor = { MONITOR_TOKEN: monitorToken };
const logWith = (env: Readonly<Record<string, string>>, ...words: readonly string[]) =>
	callCommand("scripts/log.ts", words, env);

/** Connects a device until the test ends. */
async function connect(t: TestContext, url: string, options: Partial<ScriptedDeviceOptions> = {}) {
	const device = await ScriptedDevice.join(t, { url, deviceId, ...options });
	return device;
}

describe("npm run log", () => {
	test("prints a device's trace, even after it has reconnected, until its time is over", async (t) => {
		const { url } = await runGateway(t);
		const device = await connect(t, url, { logLines: "one\ntwo\n" });
		const words = [deviceId, "--gateway", url, "--seconds", "600"];
		const log = runCommand(t, "scripts/log.ts", words, ofMonitor);
		await log.printed(/^one\ntwo\n$/);
		device.log("three\n", 1, 2);
		await log.printed(/two\n\(2 lines did not fit\)\nthree\n$/);
		device.close();
		const back = await connect(t, url, { logLines: "three\nfour\n" });
		await log.printed(/three\nfour\n$/);
		log.process.kill("SIGINT");
		assert.equal(await log.exitCode, 0);
		// The last one may reach the device after the command has ended.
		const asked = await eventually(
			() => [...device.commands, ...back.commands].map(({ command, level }) => `${command} ${level}`),
			({ length }) => length > 2,
		);
		assert.deepEqual(asked, ["set_log info", "set_log info", "set_log off"]);
	});

	test("escapes terminal control characters, and ends by itself", async (t) => {
		const { url } = await runGateway(t);
		const clipboard = "\x1b]52;c;cm0gLXJm\x07";
		const title = "\x9d0;title\x9c";
		const logLines = `a\tb\u{1f600} ${clipboard} ${title} over\rwritten \u202egnp.exe\nend\n`;
		await connect(t, url, { logLines });
		const { code, output } = await logWith(ofMonitor, deviceId, "--gateway", url, "--seconds", "1");
		assert.equal(code, 0, output);
		assert.equal(
			output.replaceAll(/\n+/g, "\n"),
			"a\tb\u{1f600} \\x1b]52;c;cm0gLXJm\\x07 \\x9d0;title\\x9c over\\x0dwritten \\u202egnp.exe\nend\n",
		);
	});

	test("lists the devices if the gateway does not know this one", async (t) => {
		const { url } = await runGateway(t);
		await connect(t, url, { deviceId: "dev-1-000002" });
		const { code, output } = await logWith(ofMonitor, deviceId, "--gateway", url);
		assert.equal(code, 1);
		assert.match(output, /^Device dev-1-a1b2c3 not found; there is dev-1-000002\.$/m);
	});

	for (const [what, words, env, message] of [
		["no device", [], {}, /Specify a device id/],
		["two devices", [deviceId, "dev-1-000000"], {}, /Specify one device\./],
		["an invalid device id", ["a b"], {}, /"a b" is not a device id/],
		["too long a time", [deviceId, "--seconds", "601"], {}, /--seconds must be a whole number from 1 to 600/],
		["an invalid address", [deviceId, "--gateway", "here"], {}, /--gateway must be an address/],
		["no token", [deviceId], { DATA_DIR: "/no/such/folder" }, /No monitor token found\. Set MONITOR_TOKEN/],
	] as const)
		test(`rejects ${what}`, async () => {
			const { code, output } = await logWith(env, ...words);
			assert.equal(code, 1);
			assert.match(output, message);
		});
});
