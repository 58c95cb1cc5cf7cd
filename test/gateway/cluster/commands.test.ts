/** Tests of the CLI at any of several gateways, with the tokens stored in NATS. */

import { type TestContext, test } from "node:test";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { extensions } from "../../../gateway/extensions.js";
import { runCommand } from "../../support/command-line.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { bearer, type RunningGateway, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { limits } from "./gateways.js";

const deviceId = "dev-1-020000a1b2c3";

async function runWithoutTokens(t: TestContext, server: MemoryServer) {
	const dataDir = await temporaryDirectory(t);
	const given = { dataDir, deviceToken: undefined, monitorToken: undefined, limits };
	return {
		dataDir,
		...(await runGateway(t, { ...given, ...joinGateways(server.connect(), dataDir, extensions) })),
	};
}

/** Resolves once monitors of this gateway see the device as connected. */
async function connected({ open, gateway }: RunningGateway): Promise<void> {
	const monitor = await open("/monitor", { headers: bearer(gateway.tokens.monitor) });
	await monitor.until(({ sessions }) =>
		sessions?.some((session) => session.deviceId === deviceId && session.connected),
	);
	monitor.socket.terminate();
}

test("prints the full log of another gateway's device with npm run log", async (t) => {
	const server = new MemoryServer();
	const [a, b] = [await runWithoutTokens(t, server), await runWithoutTokens(t, server)];
	const token = a.gateway.tokens.device;
	const device = new ScriptedDevice({ url: a.url, deviceId, token, logLines: "first\n" });
	await device.connect();
	for (const each of [b, a]) {
		await connected(each);
		const words = [deviceId, "--gateway", each.url];
		const log = runCommand(t, "scripts/log.ts", words, { DATA_DIR: each.dataDir });
		await log.printed(/^first\n$/);
		log.process.kill("SIGINT");
		await log.exitCode;
	}
});

test("connects npm run device to any gateway with the token of another", async (t) => {
	const server = new MemoryServer();
	const [a, b] = [await runWithoutTokens(t, server), await runWithoutTokens(t, server)];
	const gateway = `${b.url.replace("http", "ws")}/device`;
	const words = ["--model", "dev-1", "--serial", "a1b2c3", "--gateway", gateway];
	const device = runCommand(t, "scripts/device.ts", words, { DATA_DIR: a.dataDir });
	await connected(b);
	device.process.kill("SIGINT");
	await device.exitCode;
});
