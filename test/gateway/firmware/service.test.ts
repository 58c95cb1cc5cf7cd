/** Tests of the firmware service in a complete gateway, over real sockets and HTTP. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { addRelease } from "../../../scripts/release/folder.js";
import { sha256Of } from "../../support/bytes.js";
import { selfSigned, tlsFiles } from "../../support/certificates.js";
import { makeImage } from "../../support/images.js";
import { whyMissing } from "../../support/programs.js";
import { bearer, monitorToken, runGateway, runWatched, temporaryDirectory } from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const image = makeImage({ chip: "virtual" });
const deviceId = "dev-1-a1b2c3";
const virtualDevice = { "Device-Id": deviceId, "Device-Model": "DEV-1", "Device-Chip": "virtual" };

function runs(version: string, id = deviceId) {
	return withField(withField(sampleReport("DEV-1"), "system.firmware_version", version), "deviceId", id);
}

/** Address of the image of release 1.4.0 for a virtual DEV-1. */
function releaseUrl(base: string, content: Uint8Array): string {
	return `${base}/releases/firmware-v1.4.0.bin?model=dev-1&chip=virtual&sha256=${sha256Of(content)}`;
}

describe("update", () => {
	test("is visible to monitors from the request to the restarted device", async (t) => {
		const { gateway, monitor } = await runWatched(t);
		assert.equal((await gateway.upload(image)).status, 201);
		const device = await gateway.device(virtualDevice);
		device.send(runs("1.3.0"));
		const { sessionId } = await monitor.change("identified");
		const idle = { otaStatus: "pending", otaPercent: null, otaVersion: "1.4.0", otaReason: null };
		monitor.send({ type: "trigger_ota", targetId: deviceId, version: "custom", requestId: "u1" });
		assert.deepEqual((await monitor.change("ota")).metadata, idle);
		const ack = await monitor.next();
		assert.deepEqual([ack.type, ack.requestId, ack.sessionId], ["ack", "u1", sessionId]);
		const url = `${gateway.url}/ota/firmware.bin?sha256=${sha256Of(image)}`;
		assert.deepEqual(await device.next(), { command: "start_ota", url });

		for (const [message, status] of [
			[{ type: "ota_progress", percent: 50, bytes_written: 1, bytes_total: 2 }, "downloading"],
			[{ type: "ota_complete" }, "rebooting"],
		] as const) {
			device.send(message);
			assert.equal((await monitor.change("ota")).metadata.otaStatus, status);
		}
		device.socket.terminate();
		await monitor.change("disconnected");
		const back = await gateway.device(virtualDevice);
		back.send(runs("1.4.0"));
		const { metadata, firmwareVersion } = await monitor.change("ota");
		assert.equal(firmwareVersion, "1.4.0");
		assert.deepEqual(metadata, { ...idle, otaStatus: "updated", otaPercent: 100 });
	});

	test("uses the address of the device's connection, or PUBLIC_URL if it names that host", async (t) => {
		const { gateway, monitor } = await runWatched(t, {
			publicUrl: new URL("https://gateway.example/audio/"),
		});
		assert.equal((await gateway.upload(image)).status, 201);
		for (const [targetId, host, base] of [
			["dev-1-000001", "gateway.example", "https://gateway.example/audio"],
			["dev-1-000002", "GATEWAY.example:443", "https://gateway.example/audio"],
			["dev-1-000003", "gateway.example:8080", "http://gateway.example:8080"],
			["dev-1-000004", new URL(gateway.url).host, gateway.url],
		] as const) {
			const device = await gateway.device({ ...virtualDevice, "Device-Id": targetId, Host: host });
			assert.equal((await monitor.request({ type: "trigger_ota", targetId })).type, "ack");
			const url = `${base}/ota/firmware.bin?sha256=${sha256Of(image)}`;
			assert.deepEqual(await device.next(), { command: "start_ota", url });
		}
	});

	test("sends the certificate of a private authority over TLS", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const directory = await temporaryDirectory(t);
		const tls = tlsFiles(directory, selfSigned(directory, "DNS:localhost"));
		const gateway = await runGateway(t, { tls });
		const releasesDir = join(gateway.dataDir, "releases");
		await addRelease(releasesDir, { version: "1.4.0", date: "2026-01-02", notes: "", images: [image] });
		const client = { rejectUnauthorized: false };
		const device = await gateway.device(virtualDevice, client);
		const monitor = await gateway.open("/monitor", { ...client, headers: bearer(monitorToken) });
		assert.equal((await monitor.request({ type: "trigger_ota", targetId: deviceId })).type, "ack");
		const url = releaseUrl(gateway.url, image);
		const cert_pem = await readFile(tls.cert, "utf8");
		assert.deepEqual(await device.next(), { command: "start_ota", url, cert_pem });
	});
});
