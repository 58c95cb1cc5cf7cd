/**
 * Signed firmware in the Moddable simulator: the boards' SHA-256 and XS, up to the restart, which a desktop lacks.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { before, describe, type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { rewritten } from "../support/images.js";
import { listen } from "../support/ports.js";
import { runScriptedGateway } from "../support/scripted-gateway.js";
import { badSignatures, makeReleaseKey } from "../support/signing.js";
import { type Builds, builds } from "./builds.js";
import { findSimulator, SimulatedDevice } from "./simulated.js";

const { sdk, reason } = findSimulator();
const key = makeReleaseKey("of the tests in the simulator");
const image = makeVirtualImage(Buffer.alloc(50_000, "program"), "DEV-1", "2.0.0");
const altered = rewritten(image, 20_000, [1]);

/** Serves the image, and the altered one below /altered. @returns the server's address */
async function serve(t: TestContext): Promise<string> {
	const server = createServer(({ url }, response) => {
		const file = url === "/altered" ? altered : image;
		response.writeHead(200, { "Content-Length": file.length }).end(file);
	});
	return `http://127.0.0.1:${await listen(t, server)}`;
}

describe("signed firmware in the Moddable simulator", { skip: reason ?? false, timeout: 560_000 }, () => {
	let built: Builds | undefined;
	before(async () => {
		if (sdk) built = await builds(sdk, "DEV-1", key.text);
	});

	test("accepts and rejects the vectors of Project Wycheproof", async (t) => {
		if (!sdk || !built) return;
		const device = await SimulatedDevice.start(t, { sdk, model: "DEV-1", app: built.vectors, settings: {} });
		await device.traced(/^262 vectors in \d+ ms/);
		assert.deepEqual(
			device.trace.filter((line) => line.startsWith("wrong")),
			[],
		);
		t.diagnostic(device.trace.find((line) => line.startsWith("262")) ?? "");
	});

	test("rejects an image that is not signed by its key and keeps running", async (t) => {
		if (!sdk || !built) return;
		const gateway = await runScriptedGateway(t);
		await SimulatedDevice.start(t, {
			sdk,
			model: "DEV-1",
			app: built.firmware,
			settings: { gateway: gateway.url },
		});
		const connection = await gateway.connection();
		const { system } = await connection.next("state_report");
		const url = await serve(t);
		const startOta = async (signature: string | undefined, path = "/firmware.bin") => {
			connection.send({
				command: "start_ota",
				url: url + path,
				...(signature !== undefined && { signature }),
			});
			const { reason } = await connection.next("ota_error");
			return reason;
		};
		for (const [fault, signature] of Object.entries(badSignatures(key, image, altered)))
			assert.match(
				await startOta(signature),
				/is not signed|is malformed|signature is invalid/,
				`a signature ${fault}`,
			);
		assert.match(await startOta(key.sign(image), "/altered"), /signature is invalid/);
		assert.match(await startOta(key.sign(image)), /the Moddable simulator cannot start an updated image/);
		const after = await connection.next("state_report");
		assert.equal(after.system.firmware_version, system.firmware_version);
		assert.equal(gateway.server.clients.size, 1, "on its first connection");
	});
});
