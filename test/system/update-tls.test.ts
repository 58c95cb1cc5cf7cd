import assert from "node:assert/strict";
import { createServer } from "node:https";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes, slots } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Authority, type Certificate } from "../support/certificates.js";
import { listen } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { temporaryDirectory } from "../support/running.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil } from "../support/virtual-time.js";

const skip = whyMissing("openssl");

async function serveOverTls(t: TestContext, { cert, key }: Certificate, image: Buffer) {
	let requests = 0;
	const server = createServer({ cert, key }, (_request, response) => {
		requests += 1;
		response.writeHead(200, { "Content-Length": image.length });
		response.end(image);
	});
	return { url: `https://localhost:${await listen(t, server)}/firmware.bin`, requests: () => requests };
}

test("update over https", { skip }, async (t) => {
	const folder = await temporaryDirectory(t);
	const authority = new Authority(folder, "authority");
	const other = new Authority(folder, "other");
	const { bytes } = await buildFirmware();
	const image = makeVirtualImage(bytes, "DEV-1", "2.0.0");

	await t.test(
		"is rejected with the reason of the TLS error, before anything is requested or written",
		async (t) => {
			const gateway = await runScriptedGateway(t);
			let isImageTouched = false;
			const flash = new Flash({
				byteLength: flashBytes,
				onOperation: (offset) => {
					isImageTouched ||= offset >= slots[0].offset;
				},
			});
			const device = await powerOn(t, gateway, "DEV-1", { flash, clock: "virtual", version: "1.0.0" });
			const connection = await gateway.connection();
			await connection.next("state_report");
			isImageTouched = false;
			const unknown = /the server's certificate was not issued by the device's authority/;
			for (const [certificate, cert_pem, why] of [
				[
					authority.issue("DNS:localhost", -1),
					authority.certificate,
					/a certificate of the server or its authority has expired\./,
				],
				[
					authority.issue("DNS:elsewhere.lan"),
					authority.certificate,
					/the server's certificate is for elsewhere\.lan, not for localhost/,
				],
				[other.issue("DNS:localhost"), authority.certificate, unknown],
				[authority.issue("DNS:localhost"), undefined, unknown],
			] as const) {
				const server = await serveOverTls(t, certificate, image);
				connection.send({ command: "start_ota", url: server.url, ...(cert_pem && { cert_pem }) });
				const { reason } = await passUntil(device, connection.next("ota_error"));
				assert.match(reason, /^localhost:\d+ is unreachable after 6 attempts: TLS: .*[^.]\.$/);
				assert.match(reason, why);
				assert.equal(server.requests(), 0, "no requests");
			}
			const broken = authority.certificate.replace(/\w{20}/, "?".repeat(20));
			connection.send({ command: "start_ota", url: "https://localhost:1/firmware.bin", cert_pem: broken });
			const { reason } = await passUntil(device, connection.next("ota_error"));
			assert.match(reason, /^cert_pem must be a certificate in PEM/);
			assert.equal(isImageTouched, false, "no slot was written");
			assert.equal(device.started.version, "1.0.0");
		},
	);

	for (const [who, ca, cert_pem] of [
		["the command names", other.base64, authority.certificate],
		["the device knows", authority.base64, undefined],
	] as const)
		await t.test(`by a server with a certificate of the authority that ${who} succeeds`, async (t) => {
			const gateway = await runScriptedGateway(t);
			const server = await serveOverTls(t, authority.issue("DNS:localhost"), image);
			const settings = { gateway: gateway.url, token: "t", ca };
			const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual", version: "1.0.0", settings });
			const connection = await gateway.connection();
			await connection.next("state_report");
			connection.send({ command: "start_ota", url: server.url, ...(cert_pem && { cert_pem }) });
			const again = await passUntil(device, gateway.connection());
			const { system } = await again.next("state_report");
			assert.equal(system.firmware_version, "2.0.0");
		});
});
