import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { makePatch } from "../../scripts/release/patch.js";
import { sha256Of } from "../support/bytes.js";
import { waitUntil } from "../support/eventually.js";
import { listen } from "../support/ports.js";
import { sendRange } from "../support/ranges.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";

/** Serves range requests. The first one of each file waits until it is released. */
async function serve(t: TestContext, files: Readonly<Record<string, Uint8Array>>) {
	const asked = new Set<string>();
	const waiting: { readonly path: string; readonly release: () => void }[] = [];
	const server = createServer(async (request, response) => {
		const { url = "" } = request;
		if (!asked.has(url)) {
			asked.add(url);
			await new Promise<void>((release) => waiting.push({ path: url, release }));
		}
		sendRange(request, response, files[url]);
	});
	const port = await listen(t, server);
	return { urlOf: (path: string) => `http://127.0.0.1:${port}${path}`, waiting };
}

test("updates firmware in XS by a patch in less memory than by the full image, and falls back to it if the patch does not match", async (t) => {
	const gateway = await runScriptedGateway(t);
	const { bytes } = await buildFirmware();
	const [first, second, third] = ["1.0.0", "2.0.0", "3.0.0"].map((version) =>
		makeVirtualImage(bytes, "DEV-1", version),
	);
	assert.ok(first && second && third, "an image is missing");
	const files = {
		"/second.bin": second,
		"/third.bin": third,
		"/second.patch": makePatch(first, second),
		"/third.patch": makePatch(first, third),
	};
	const { urlOf, waiting } = await serve(t, files);
	const device = await powerOn(t, gateway, "DEV-1", { version: "1.0.0", buildTime: 0 });

	/** @param paths expected requests @returns bytes of heap during the last one */
	const update = async (name: string, to: Buffer, ...paths: readonly string[]) => {
		const connection = await gateway.connection();
		const before = await connection.query();
		let used = 0;
		connection.send({
			command: "start_ota",
			url: urlOf(`/${name}.bin`),
			patch: { url: urlOf(`/${name}.patch`), from: sha256Of(first), to: sha256Of(to) },
		});
		for (const path of paths) {
			await waitUntil(() => waiting.length > 0);
			const request = waiting.shift();
			assert.equal(request?.path, path);
			const { health } = await connection.query();
			used = before.health.free_heap_bytes - health.free_heap_bytes;
			request.release();
		}
		await connection.next("ota_complete");
		assert.deepEqual(waiting, []);
		return used;
	};
	const byPatch = await update("second", second, "/second.patch");
	const byImage = await update("third", third, "/third.patch", "/third.bin");
	const connection = await gateway.connection();
	const report = await connection.next("state_report");
	assert.equal(report.system.firmware_version, "3.0.0");
	assert.equal(device.started.slot, 0);
	t.diagnostic(`${byPatch} bytes of heap by patch, ${byImage} by full image`);
	assert.ok(byPatch < byImage - 4_096, `${byPatch} bytes of heap by patch, ${byImage} by full image`);
});
