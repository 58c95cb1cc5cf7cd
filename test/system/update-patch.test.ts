import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { makePatch } from "../../scripts/release/patch.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Serves range requests. */
async function serve(t: TestContext, files: Readonly<Record<string, Uint8Array>>) {
	const asked: string[] = [];
	const server = createServer(({ url = "", headers: { range } }, response) => {
		asked.push(url);
		const file = files[url];
		const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
		if (!file || first === undefined) return response.writeHead(404).end();
		const part = file.subarray(Number(first), Number(last) + 1);
		const end = Number(first) + part.length - 1;
		response.writeHead(206, {
			"Content-Length": part.length,
			"Content-Range": `bytes ${first}-${end}/${file.length}`,
		});
		return response.end(part);
	});
	const port = await listen(t, server);
	return { urlOf: (path: string) => `http://127.0.0.1:${port}${path}`, asked };
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
	const { urlOf, asked } = await serve(t, files);
	const device = await powerOn(t, gateway, "DEV-1", { version: "1.0.0", buildTime: 0 });

	const update = async (name: string, to: Buffer) => {
		const connection = await gateway.connection();
		const before = await connection.query();
		connection.send({
			command: "start_ota",
			url: urlOf(`/${name}.bin`),
			patch: { url: urlOf(`/${name}.patch`), from: digestOf(first), to: digestOf(to) },
		});
		await connection.next("ota_complete");
		const after = await connection.query();
		return before.health.free_heap_bytes - after.health.free_heap_bytes;
	};
	const byPatch = await update("second", second);
	assert.deepEqual([...new Set(asked.splice(0))], ["/second.patch"]);
	const byImage = await update("third", third);
	assert.deepEqual([...new Set(asked)], ["/third.patch", "/third.bin"]);
	const connection = await gateway.connection();
	const report = await connection.next("state_report");
	assert.equal(report.system.firmware_version, "3.0.0");
	assert.equal(device.started.slot, 0);
	t.diagnostic(`${byPatch} bytes of heap by patch, ${byImage} by full image`);
	assert.ok(byPatch < byImage, `${byPatch} bytes of heap by patch, ${byImage} by full image`);
});
