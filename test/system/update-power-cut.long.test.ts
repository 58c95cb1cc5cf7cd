/**
 * Power cuts in an update of the whole firmware in XS at the critical points: at each write of otadata, after each
 * write of settings, which the firmware makes only here, and within the image.
 * test/device/update/power-cut.long.test.ts cuts at every flash operation, without XS and settings.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { boot } from "../../hosts/virtual/node/boot/boot-loader.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { type CutMoment, Flash, type FlashOperation } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { waitUntil } from "../support/eventually.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway, type ScriptedGateway } from "../support/scripted-gateway.js";
import { passUntil } from "../support/virtual-time.js";

/** Serves the image of the version in the URL. */
async function serveVersions(t: TestContext, program: Uint8Array) {
	const images = new Map(
		["2.0.0", "3.0.0"].map((version) => [`/${version}`, makeVirtualImage(program, "DEV-1", version)]),
	);
	const server = createServer((request, response) => {
		const image = images.get(request.url ?? "");
		if (!image) return response.writeHead(404).end();
		return response.writeHead(200, { "Content-Length": image.length }).end(image);
	});
	const port = await listen(t, server);
	return (version: string) => `http://127.0.0.1:${port}/${version}`;
}

/** Updates until the device has reported that version and is confirmed, or has returned with the previous one. */
async function update(gateway: ScriptedGateway, device: VirtualDevice, url: string): Promise<string> {
	const connected = async () => {
		for (;;) {
			const connection = await gateway.connection();
			// A power cut may precede the report: then the device connects again.
			const report = await connection.next("state_report").catch(() => undefined);
			if (report) return { connection, report };
		}
	};
	const { connection } = await passUntil(device, connected());
	connection.send({ command: "start_ota", url });
	const { report } = await passUntil(device, connected());
	await passUntil(device, settled(device));
	return report.system.firmware_version;
}

async function settled(device: VirtualDevice): Promise<void> {
	await waitUntil(() => !device.isPendingVerify);
}

test("a power cut in an update of the firmware in XS leaves a working device that accepts the next update", async (t) => {
	const gateway = await runScriptedGateway(t);
	const program = await buildFirmware();
	const urlOf = await serveVersions(t, program.bytes);
	const operations: FlashOperation[] = [];
	const start = async (flash: Flash) => {
		const device = await powerOn(t, gateway, "DEV-1", { flash, version: "1.0.0", program, clock: "virtual" });
		return device;
	};

	const rehearsal = new Flash({
		byteLength: flashBytes,
		onOperation: (operation) => operations.push(operation),
	});
	const first = await start(rehearsal);
	operations.length = 0;
	assert.equal(await update(gateway, first, urlOf("2.0.0")), "2.0.0");
	await first.close();
	const amidImage = Math.floor(operations.length / 2);
	const cuts = operations.flatMap(({ kind, offset }, index) => {
		const isInOtaData = offset < partitions.nvs.offset;
		// A replaced setting has its old or its new value.
		const moments: CutMoment[] = kind === "replace" ? ["after"] : ["middle", "after"];
		const isChosen = isInOtaData || kind === "replace" || index === amidImage;
		return isChosen ? moments.map((moment) => ({ operation: index + 1, moment })) : [];
	});

	for (const { operation, moment } of cuts) {
		const flash = new Flash({ byteLength: flashBytes });
		const device = await start(flash);
		flash.cutAt(operation, moment);
		const came = await update(gateway, device, urlOf("2.0.0"));
		assert.ok(["1.0.0", "2.0.0"].includes(came), `${moment} ${operation}`);
		await device.close();
		// The boot loader finds the running image, and the next update succeeds.
		flash.powerOn();
		assert.match(boot(flash).image.version, /^[12]\.0\.0$/);
		const again = await start(flash);
		assert.equal(await update(gateway, again, urlOf("3.0.0")), "3.0.0", `after ${moment} ${operation}`);
		await again.close();
	}
	t.diagnostic(`${cuts.length} power cuts at ${operations.length} flash operations, 0 bricks`);
});
