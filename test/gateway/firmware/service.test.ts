/** Tests of the firmware service in a complete gateway, over real sockets and HTTP. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { addRelease } from "../../../scripts/release/folder.js";
import { assertSameBytes } from "../../support/bytes.js";
import { selfSigned, tlsFiles } from "../../support/certificates.js";
import { makeImage } from "../../support/images.js";
import { applyPatch } from "../../support/patches.js";
import { whyMissing } from "../../support/programs.js";
import { writeReleases } from "../../support/releases.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import { sampleReport, withField } from "../../support/sample-report.js";

const image = makeImage({ chip: "virtual" });
const virtualDevice = { "Device-Id": "dev-1-a1b2c3", "Device-Model": "DEV-1", "Device-Chip": "virtual" };

function upload(url: string, token: string | undefined, content = image): Promise<Response> {
	const body = new FormData();
	body.set("firmware", new Blob([content]), "virtual.bin");
	return fetch(`${url}/ota/upload`, { method: "POST", body, headers: token ? bearer(token) : {} });
}

function runs(version: string) {
	return withField(sampleReport("DEV-1"), "system.firmware_version", version);
}

function sha256Of(content: Uint8Array): string {
	return createHash("sha256").update(content).digest("hex");
}

/** Address of the image of release 1.4.0 for a virtual DEV-1. */
function releaseUrl(base: string, content: Uint8Array = Buffer.alloc(0)): string {
	return `${base}/releases/firmware-v1.4.0.bin?model=dev-1&chip=virtual&sha256=${sha256Of(content)}`;
}

describe("update", () => {
	test("is visible to monitors from the upload to the restarted device", async (t) => {
		const gateway = await runGateway(t);
		await upload(gateway.url, monitorToken);
		const monitor = await gateway.monitor();
		const device = await gateway.device(virtualDevice);
		device.send(runs("1.3.0"));
		const { sessionId } = await monitor.change("identified");

		const ask = { type: "trigger_ota", targetId: "dev-1-a1b2c3", version: "custom", requestId: "u1" };
		const pending = monitor.change("ota");
		monitor.send(ask);
		assert.deepEqual((await pending).metadata, {
			otaStatus: "pending",
			otaPercent: null,
			otaVersion: "1.4.0",
			otaReason: null,
		});
		const ack = await monitor.until(({ type }) => type === "ack" || type === "error");
		assert.deepEqual([ack.type, ack.requestId, ack.sessionId], ["ack", "u1", sessionId]);
		assert.equal((await monitor.request(ask)).code, "ota_in_progress");

		const command = JSON.parse(await device.nextText());
		assert.deepEqual(command, {
			command: "start_ota",
			url: `${gateway.url}/ota/firmware.bin?sha256=${sha256Of(image)}`,
		});
		const block = await fetch(command.url, { headers: { ...bearer(deviceToken), Range: "bytes=0-16383" } });
		assert.equal(block.status, 206);
		assertSameBytes(Buffer.from(await block.arrayBuffer()), image.subarray(0, 16_384));

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
		const { metadata, firmwareVersion } = await monitor.until(isUpdated).then(({ sessions: [session] }) => {
			assert.ok(session, "the change names no device");
			return session;
		});
		assert.equal(firmwareVersion, "1.4.0");
		assert.deepEqual(metadata, {
			otaStatus: "updated",
			otaPercent: 100,
			otaVersion: "1.4.0",
			otaReason: null,
		});
	});
	test("uses a patch for a supporting device that runs its base, even after a failure", async (t) => {
		const releasesDir = join(await temporaryDirectory(t), "releases");
		const images = ["1.3.0", "1.4.0"].map((version) => makeImage({ version, chip: "virtual" }));
		for (const [index, version] of ["1.3.0", "1.4.0"].entries()) {
			const release = { version, date: "2026-01-02", notes: "", images: images.slice(index, index + 1) };
			await addRelease(releasesDir, release);
		}
		const gateway = await runGateway(t, { releasesDir });
		const monitor = await gateway.monitor();
		const commandFor = async (deviceId: string, version: string, features: string) => {
			const device = await gateway.device({
				...virtualDevice,
				"Device-Id": deviceId,
				"Device-Features": features,
			});
			device.send(withField(runs(version), "deviceId", deviceId));
			await monitor.change("identified");
			assert.equal((await monitor.request({ type: "trigger_ota", targetId: deviceId })).type, "ack");
			return { device, command: JSON.parse(await device.nextText()) };
		};
		for (const [index, [version, features]] of (
			[
				["1.3.0", "sound"],
				["1.2.0", "sound,delta"],
			] as const
		).entries())
			assert.equal((await commandFor(`dev-1-00000${index}`, version, features)).command.patch, undefined);
		const deviceId = "dev-1-a1b2c3";
		const { device, command } = await commandFor(deviceId, "1.3.0", "sound,delta");
		const [from = "", to = ""] = images.map(sha256Of);
		const url = `${gateway.url}/releases/virtual/dev-1/firmware-v1.4.0.from-v1.3.0.patch`;
		assert.deepEqual(command, {
			command: "start_ota",
			url: releaseUrl(gateway.url, images[1]),
			patch: { url, from, to },
		});
		const patch = Buffer.from(await (await fetch(url, { headers: bearer(deviceToken) })).arrayBuffer());
		const [running = Buffer.alloc(0), made] = images;
		assert.deepEqual(applyPatch(patch, running, from, to), made);
		assert.equal((await fetch(url)).status, 401);
		device.send({ type: "ota_error", reason: "The patch and the whole image are damaged." });
		await monitor.change("ota");
		assert.equal((await monitor.request({ type: "trigger_ota", targetId: deviceId })).type, "ack");
		assert.deepEqual(JSON.parse(await device.nextText()), command);
	});
	test("uses the address of the device's connection, or PUBLIC_URL if it names that host", async (t) => {
		const gateway = await runGateway(t, { publicUrl: new URL("https://gateway.example/audio/") });
		await upload(gateway.url, monitorToken);
		const monitor = await gateway.monitor();
		for (const [index, [host, base]] of (
			[
				["gateway.example", "https://gateway.example/audio"],
				["GATEWAY.example:443", "https://gateway.example/audio"],
				["gateway.example:8080", "http://gateway.example:8080"],
				[new URL(gateway.url).host, gateway.url],
			] as const
		).entries()) {
			const targetId = `dev-1-00000${index}`;
			const device = await gateway.device({ ...virtualDevice, "Device-Id": targetId, Host: host });
			assert.equal((await monitor.request({ type: "trigger_ota", targetId })).type, "ack");
			assert.equal(
				JSON.parse(await device.nextText()).url,
				`${base}/ota/firmware.bin?sha256=${sha256Of(image)}`,
			);
		}
	});
	test("sends the certificate of a private authority over TLS", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const directory = await temporaryDirectory(t);
		const tls = tlsFiles(directory, selfSigned(directory, "DNS:localhost"));
		const releasesDir = join(directory, "releases");
		const [made] = await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "virtual" }]);
		const gateway = await runGateway(t, { tls, releasesDir });
		const client = { rejectUnauthorized: false };
		const device = await gateway.device(virtualDevice, client);
		const monitor = await gateway.open("/monitor", { ...client, headers: bearer(monitorToken) });
		assert.equal((await monitor.request({ type: "trigger_ota", targetId: "dev-1-a1b2c3" })).type, "ack");
		const command = JSON.parse(await device.nextText());
		assert.equal(command.url, releaseUrl(gateway.url, made));
		assert.equal(command.cert_pem, await readFile(tls.cert, "utf8"));
	});
});

function isUpdated(frame: {
	type: string;
	sessions?: readonly { metadata: { otaStatus: string } }[];
}): boolean {
	return frame.type === "status_update" && frame.sessions?.[0]?.metadata.otaStatus === "updated";
}
