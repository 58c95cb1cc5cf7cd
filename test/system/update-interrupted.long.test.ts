import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { test } from "node:test";
import { WebSocketServer } from "ws";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { onEnd } from "../support/cleanup.js";
import { nextEvent } from "../support/eventually.js";
import { powerOn, ScriptedGateway } from "../support/scripted-gateway.js";
import { pass, passUntil } from "../support/virtual-time.js";

for (const seconds of [45, 300])
	test(`resumes an update after the gateway was away for ${seconds} s in the middle`, async (t) => {
		const { bytes } = await buildFirmware();
		const image = makeVirtualImage(bytes, "DEV-1", "2.0.0");
		let requests = 0;
		let goAway = () => {};
		const away = new Promise<void>((resolve) => {
			goAway = resolve;
		});
		const server = createServer((request, response) => {
			requests += 1;
			if (requests === 4) goAway();
			else servePart(request, response, image);
		});
		const gateway = new ScriptedGateway(t, new WebSocketServer({ server }));
		server.listen(0, "127.0.0.1");
		await nextEvent(server, "listening");
		const { url } = gateway;
		const { host, port } = new URL(url);
		const disconnect = () => {
			for (const client of gateway.server.clients) client.terminate();
			server.closeAllConnections();
			server.close();
		};
		onEnd(t, disconnect);

		const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual", version: "1.0.0" });
		const connection = await gateway.connection();
		await connection.next("state_report");
		connection.send({ command: "start_ota", url: `http://${host}/firmware.bin` });
		await passUntil(device, away);
		disconnect();
		await nextEvent(server, "close");
		await pass(device, seconds * 1000);
		assert.equal(requests, 4, "no requests meanwhile");
		server.listen(Number(port), "127.0.0.1");

		const again = await passUntil(device, gateway.connection());
		await again.next("state_report");
		const failed = again.next("ota_error").then(
			({ reason }) => assert.fail(reason),
			// The connection ends with the requested restart.
			() => new Promise<never>(() => {}),
		);
		const updated = await passUntil(device, Promise.race([gateway.connection(), failed]));
		assert.equal((await updated.next("state_report")).system.firmware_version, "2.0.0");
		assert.equal(requests, Math.ceil(image.length / 16_384) + 1, "one block was fetched twice");
	});

function servePart(request: IncomingMessage, response: ServerResponse, file: Buffer): void {
	const [, first = 0, last = 0] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "")?.map(Number) ?? [];
	const part = file.subarray(first, last + 1);
	response.writeHead(206, {
		"Content-Length": part.length,
		"Content-Range": `bytes ${first}-${first + part.length - 1}/${file.length}`,
	});
	response.end(part);
}
