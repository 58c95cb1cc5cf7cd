import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { onEnd } from "../../cleanup.js";
import { temporaryDirectory } from "../../gateway/running.js";
import { powerOn, ScriptedGateway } from "../scripted-gateway.js";
import { pass } from "../virtual-time.js";

const skip = spawnSync("openssl", ["version"]).status === 0 ? false : "openssl makes the certificates";

/** A gateway on TLS whose certificate is good for `name`, and the certificate authority to trust. */
async function runSecureGateway(t: TestContext, name: string) {
	const folder = await temporaryDirectory(t);
	const file = (base: string) => join(folder, base);
	const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "ignore" });
	const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
	openssl(
		...["req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=Test CA"],
		...["-keyout", file("ca.key"), "-out", file("ca.pem")],
	);
	openssl(
		...["req", ...newKey, "-subj", "/CN=gateway", "-addext", `subjectAltName=${name}`],
		...["-keyout", file("key.pem"), "-out", file("request.pem")],
	);
	openssl(
		...["x509", "-req", "-in", file("request.pem"), "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
		...["-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out", file("cert.pem")],
	);
	const server = createServer({
		key: await readFile(file("key.pem")),
		cert: await readFile(file("cert.pem")),
	});
	let attempts = 0;
	server.on("tlsClientError", () => {
		attempts += 1;
	});
	const webSockets = new WebSocketServer({ server });
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onEnd(t, () => {
		for (const client of webSockets.clients) client.terminate();
		server.close();
	});
	const authority = await readFile(file("ca.pem"), "utf8");
	const gateway = new ScriptedGateway(webSockets);
	return {
		gateway,
		url: gateway.url.replace("ws:", "wss:"),
		ca: authority.replace(/-----[^-]+-----|\s/g, ""),
		failedHandshakes: () => attempts,
	};
}

test("a device connects to a gateway whose certificate its authority signed", { skip }, async (t) => {
	const { gateway, url, ca } = await runSecureGateway(t, "IP:127.0.0.1");
	await powerOn(t, { url }, "DEV-1", { config: { gateway: url, token: "t", ca } });
	const connection = await gateway.connection();
	await connection.next("state_report");
});

test("it trusts neither another authority nor a certificate for another name", { skip }, async (t) => {
	const other = await runSecureGateway(t, "IP:127.0.0.1");
	const misnamed = await runSecureGateway(t, "DNS:elsewhere.example");
	for (const [server, ca] of [
		[other, misnamed.ca],
		[misnamed, misnamed.ca],
		[other, ""],
	] as const) {
		const before = server.failedHandshakes();
		const device = await powerOn(t, server, "DEV-1", {
			clock: "virtual",
			config: { gateway: server.url, token: "t", ca },
		});
		while (server.failedHandshakes() === before && server.gateway.server.clients.size === 0) {
			await pass(device, 0);
			await setImmediate();
		}
		await pass(device, 3000);
		assert.equal(server.gateway.server.clients.size, 0);
		await device.close();
	}
});
