import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { before, describe, test } from "node:test";
import { tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import { GatewayClient } from "../../scripts/command-line/gateway-client.js";
import { nextEvent } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import { deviceToken, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";

const viewerToken = "a-viewers-token-of-the-fixtures";

describe("error of a command for a gateway", () => {
	before(() => {
		process.env.MONITOR_TOKEN = monitorToken;
	});
	const clientWith = (token: string, address: string) => {
		process.env.MONITOR_TOKEN = token;
		return new GatewayClient(address);
	};

	test("that is unreachable contains its address and the cause, for requests and WebSockets", async () => {
		const port = await freePort();
		for (const host of ["127.0.0.1", "localhost"]) {
			const client = clientWith(monitorToken, `http://${host}:${port}/`);
			const expected = new RegExp(
				`^Gateway unreachable at http://${host}:${port}: connect ECONNREFUSED \\S+:${port}(, connect .*)?\\.$`,
			);
			await assert.rejects(client.request("GET /api/devices"), { status: 0, message: expected });
			const [error] = await nextEvent(client.openMonitor(), "error");
			assert.match(client.connectionError(error).message, expected);
		}
		const unknown = clientWith(monitorToken, "ws://no-such-host.invalid/gw");
		await assert.rejects(unknown.request("GET /api/devices"), {
			message: /^Gateway unreachable at ws:\/\/no-such-host\.invalid\/gw: .*no-such-host/,
		});
	});

	test("that rejects the token names the variable to set", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const named = [{ name: "anna", role: "viewer", token: viewerToken } as const];
		await writeTokenFile(fs, tokenPath(dataDir), { device: deviceToken, monitor: monitorToken, named });
		const { url } = await runGateway(t, { dataDir, deviceToken: undefined, monitorToken: undefined });
		const unauthorized = clientWith("not-the-monitor-token", url);
		const rejected = /Monitor token rejected by .*\. Set MONITOR_TOKEN, or set DATA_DIR to the data folder/;
		await assert.rejects(unauthorized.request("GET /api/devices"), { status: 401, message: rejected });
		const [error] = await nextEvent(unauthorized.openMonitor(), "error");
		assert.match(unauthorized.connectionError(error).message, rejected);
		await assert.rejects(
			clientWith(viewerToken, url).request("POST /api/device-tokens", { body: { deviceId: "" } }),
			{
				status: 403,
				message: "Not permitted for this token. Set MONITOR_TOKEN to a monitor token.",
			},
		);
		await assert.rejects(
			clientWith(monitorToken, url).request("GET /api/devices/:deviceId", {
				params: { deviceId: "kitchen" },
			}),
			{
				message: "Device kitchen not found. GET /api/devices lists all.",
			},
		);
	});
});
