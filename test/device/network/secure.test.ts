import assert from "node:assert/strict";
import { createServer } from "node:https";
import { type TestContext, test } from "node:test";
import { WebSocketServer } from "ws";
import { Authority } from "../../support/certificates.js";
import { onEnd } from "../../support/cleanup.js";
import { listen } from "../../support/ports.js";
import { whyMissing } from "../../support/programs.js";
import { temporaryDirectory } from "../../support/running.js";
import { powerOn, ScriptedGateway } from "../../support/scripted-gateway.js";
import { nextConnection, pass, passUntilTrue } from "../../support/virtual-time.js";

const skip = whyMissing("openssl");

/** Starts a gateway with a TLS certificate valid for `name`. @returns it and the certificate authority to trust */
async function runSecureGateway(t: TestContext, name: string) {
	const authority = new Authority(await temporaryDirectory(t), "authority");
	const server = createServer(authority.issue(name));
	let attempts = 0;
	server.on("tlsClientError", () => {
		attempts += 1;
	});
	const webSockets = new WebSocketServer({ server });
	await listen(t, server);
	onEnd(t, () => {
		for (const client of webSockets.clients) client.terminate();
	});
	const gateway = new ScriptedGateway(t, webSockets);
	return {
		gateway,
		url: gateway.url.replace("ws:", "wss:"),
		ca: authority.base64,
		failedHandshakes: () => attempts,
	};
}

test("succeeds at the first attempt without a time server: the clock starts at the build time", {
	skip,
}, async (t) => {
	const { gateway, url, ca, failedHandshakes } = await runSecureGateway(t, "IP:127.0.0.1");
	const settings = { gateway: url, token: "t", ca };
	const buildTime = Math.floor(Date.now() / 1000) + 1;
	await powerOn(t, { url }, "DEV-1", { settings, buildTime, wallClock: undefined });
	const { timestamp } = await (await gateway.connection()).next("state_report");
	assert.ok(Date.parse(timestamp) >= buildTime * 1000, timestamp);
	assert.equal(failedHandshakes(), 0);
});

test("rejects a certificate that is invalid by its clock until a time server responds", {
	skip,
}, async (t) => {
	const { gateway, url, ca } = await runSecureGateway(t, "IP:127.0.0.1");
	const traced: string[] = [];
	const device = await powerOn(t, { url }, "DEV-1", {
		clock: "virtual",
		settings: { gateway: url, token: "t", ca },
		buildTime: 0,
		wallClock: undefined,
		onTrace: (text) => traced.push(text),
	});
	await passUntilTrue(
		device,
		0,
		() => traced.some((text) => text.startsWith("gateway: ")) || gateway.server.clients.size > 0,
	);
	assert.match(
		traced.join(""),
		/: TLS: a certificate .* is valid from .* the device's clock shows 1970-01-01T00:00:\d\dZ\. If the clock is wrong, set a reachable time server/,
	);
	device.board.wallClock = Date.now;
	await nextConnection(device, gateway);
	assert.ok(device.machine.now >= 60_000, `connected after ${device.machine.now} ms`);
});

test("trusts neither another authority nor a certificate for another name", { skip }, async (t) => {
	const other = await runSecureGateway(t, "IP:127.0.0.1");
	const misnamed = await runSecureGateway(t, "DNS:elsewhere.example");
	for (const [server, ca, reason] of [
		[other, misnamed.ca, /TLS: the server's certificate was not issued by the device's authority/],
		[misnamed, misnamed.ca, /TLS: the server's certificate is for elsewhere\.example, not for 127\.0\.0\.1/],
		[other, "", /TLS: /],
		[other, "no base64?", /TLS: /],
	] as const) {
		let traced = "";
		const before = server.failedHandshakes();
		const device = await powerOn(t, server, "DEV-1", {
			clock: "virtual",
			settings: { gateway: server.url, token: "t", ca },
			onTrace: (text) => {
				traced += text;
			},
		});
		await passUntilTrue(
			device,
			0,
			() => server.failedHandshakes() !== before || server.gateway.server.clients.size > 0,
		);
		await pass(device, 3000);
		assert.equal(server.gateway.server.clients.size, 0);
		assert.match(traced, reason);
		await device.close();
	}
});
