import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Gateway } from "../../gateway/gateway.js";
import { deviceAddresses } from "../../gateway/http/server.js";
import { StartError } from "../../gateway/problem.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { nextEvent, waitUntil } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import {
	bearer,
	Client,
	deviceToken,
	monitorToken,
	temporaryDirectory,
	withoutFirmware,
} from "../support/running.js";

/** Gateway that listens while loading its records, with early clients over HTTP and WebSocket. */
async function starting(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	const port = await freePort();
	let settle: { resolve(): void; reject(error: Error): void } | undefined;
	const reading = new Promise<void>((resolve, reject) => {
		settle = { resolve, reject };
	});
	// Rejection may precede the gateway's await.
	reading.catch(() => {});
	const gateway = new Gateway({
		port,
		dataDir,
		releasesDir: join(dataDir, "releases"),
		deviceToken,
		monitorToken,
		log: createLog("silent"),
		// Disables connection timeouts.
		limits: { requestHeadersMs: 300_000 },
		createFirmware: () => ({ ...withoutFirmware(), open: () => reading }),
	});
	const listening = gateway.listen();
	listening.catch(() => {});
	await waitUntil(() => isOpen(port));
	const state = { answers: 0 };
	const noteAnswer = () => {
		state.answers += 1;
	};
	const answer = fetch(`http://127.0.0.1:${port}/healthz`).finally(noteAnswer);
	const device = new Client(`ws://127.0.0.1:${port}/device`, { headers: bearer(deviceToken) });
	device.socket.on("open", noteAnswer);
	t.after(() => device.socket.terminate());
	// Time for a response to both.
	for (let time = 0; time < 20; time += 1)
		assert.ok(await isOpen(port), `the port closed after ${time} attempts`);
	assert.equal(state.answers, 0);
	assert.ok(settle, "the gateway does not load its firmware");
	return { gateway, listening, answer, device, port, ...settle };
}

async function isOpen(port: number): Promise<boolean> {
	const socket = connect(port, "127.0.0.1");
	const outcome = await Promise.race([
		once(socket, "connect").then(() => true),
		once(socket, "close").then(() => false),
	]).catch(() => false);
	socket.destroy();
	return outcome;
}

describe("client that connects while the gateway loads its records", () => {
	test("waits until it is accepted", async (t) => {
		const { gateway, listening, answer, device, resolve } = await starting(t);
		resolve();
		await listening;
		t.after(() => gateway.close());
		assert.equal((await answer).status, 200);
		await Promise.race([
			once(device.socket, "open"),
			device.closed.then(() => assert.fail("it was not let in")),
		]);
	});

	test("is disconnected if the gateway cannot start, which frees the port", async (t) => {
		const { listening, answer, device, port, reject } = await starting(t);
		const slow = connect(port, "127.0.0.1");
		await nextEvent(slow, "connect");
		slow.write("GET /heal");
		const cut = once(slow, "close").catch(() => {});
		const refused = assert.rejects(answer);
		reject(Object.assign(new Error("read-only"), { code: "EROFS" }));
		await assert.rejects(listening, StartError);
		await refused;
		await device.closed;
		await cut;
		assert.equal(await isOpen(port), false);
	});
});

describe("address unreachable for devices prevents the start", () => {
	for (const host of ["::1", "::ffff:10.0.0.1", "fe80::1%eth0", "smart_home.lan"])
		test(`HOST=${host}, without PUBLIC_URL`, () => {
			assert.throws(() => new Gateway({ host }), {
				name: "StartError",
				message: /^HOST results in the address ws:.* Set PUBLIC_URL/,
			});
			const publicUrl = new URL("https://gateway.example");
			assert.deepEqual(deviceAddresses({ host, publicUrl, tls: undefined }, 80), [
				"wss://gateway.example/device",
			]);
		});

	for (const url of [
		"http://smart_home.lan:8080",
		"http://[2001:db8::1]:8080",
		"https://gateway.example:0",
		`https://gateway.example/${"x".repeat(256)}`,
	])
		test(`PUBLIC_URL=${url.slice(0, 40)}`, () => {
			const expected = {
				name: "StartError",
				message: /^PUBLIC_URL results in the address wss?:.* Set PUBLIC_URL/,
			};
			assert.throws(() => new Gateway({ publicUrl: new URL(url) }), expected);
		});
});
