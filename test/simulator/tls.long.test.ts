/** SDK's TLS below the firmware, in the simulator: genuine servers are accepted, forged ones get no data. */

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer, type Server } from "node:net";
import { before, describe, type TestContext, test } from "node:test";
import { WebSocketServer } from "ws";
import type { DeviceSettings } from "../../scripts/command-line/device-settings.js";
import { Authority, type Certificate, type KeyKind, selfSigned } from "../support/certificates.js";
import { listen } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { temporaryDirectory } from "../support/running.js";
import { runScriptedGateway, ScriptedGateway } from "../support/scripted-gateway.js";
import { builds } from "./builds.js";
import { findSimulator, SimulatedDevice, testToken } from "./simulated.js";

const { sdk, reason } = findSimulator();
const skip = reason ?? whyMissing("openssl");
const name = "IP:127.0.0.1";

describe("TLS in the Moddable simulator", { skip, timeout: 560_000, concurrency: 2 }, () => {
	let app = "";
	before(async () => {
		if (sdk) app = (await builds(sdk, "DEV-1")).firmware;
	});

	const start = (
		t: TestContext,
		gateway: string,
		settings: DeviceSettings = {},
	): Promise<SimulatedDevice> => {
		if (!sdk) throw new Error("the Moddable SDK is not installed");
		return SimulatedDevice.start(t, { sdk, model: "DEV-1", app, settings: { gateway, ...settings } });
	};

	/** Starts a gateway behind TLS with a valid certificate. */
	async function runSecureGateway(t: TestContext, { cert, key }: Certificate) {
		const server = createHttpsServer({ cert, key, maxVersion: "TLSv1.2" });
		const gateway = new ScriptedGateway(t, new WebSocketServer({ server }));
		const url = `wss://127.0.0.1:${await listen(t, server)}/device`;
		return { gateway, url };
	}

	test("trusts a gateway and a firmware server by the authority in the settings", async (t) => {
		const authority = new Authority(await temporaryDirectory(t), "authority");
		const { cert, key } = authority.issue(name);
		const chain = { cert: cert + authority.certificate, key };
		const { gateway, url } = await runSecureGateway(t, chain);
		const { promise: asked, resolve } = withResolvers<string | undefined>();
		const updates = createHttpsServer({ ...chain, maxVersion: "TLSv1.2" }, (request, response) => {
			resolve(request.url);
			response.writeHead(404, { "Content-Length": 0 }).end();
		});
		const port = await listen(t, updates);
		await start(t, url, { ca: authority.base64 });
		const connection = await gateway.connection();
		await connection.next("state_report");
		connection.send({ command: "start_ota", url: `https://127.0.0.1:${port}/firmware.bin` });
		assert.equal(await asked, "/firmware.bin");
	});

	test("rejects a gateway with an unknown authority", async (t) => {
		const authority = new Authority(await temporaryDirectory(t), "authority");
		const other = new Authority(await temporaryDirectory(t), "other");
		const { cert, key } = authority.issue(name);
		const { gateway, url } = await runSecureGateway(t, { cert: cert + authority.certificate, key });
		const device = await start(t, url, { ca: other.base64 });
		await device.traced(
			/no connection to 127\.0\.0\.1:\d+: TLS: the server's certificate was not issued by the device's authority/,
		);
		assert.equal(gateway.server.clients.size, 0);
	});

	test("trusts a gateway whose authority has no key identifiers, whether it sends that authority or not", async (t) => {
		const authority = new Authority(await temporaryDirectory(t), "authority", "ec", false);
		const { cert, key } = authority.issue(name);
		assert.doesNotMatch(new X509Certificate(authority.certificate).toString(), /KeyIdentifier/);
		for (const chain of [cert + authority.certificate, cert]) {
			const { gateway, url } = await runSecureGateway(t, { cert: chain, key });
			await start(t, url, { ca: authority.base64 });
			await (await gateway.connection()).next("state_report");
		}
	});

	test("ignores an expired certificate that is not needed, even if its authority also signed the given one", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "authority");
		const { cert, key } = authority.issue(name);
		const old = new Authority(folder, "old").issue(name, -1).cert;
		const { gateway, url } = await runSecureGateway(t, { cert: cert + authority.certificate + old, key });
		await start(t, url, { ca: authority.base64 });
		await (await gateway.connection()).next("state_report");
	});

	test("trusts a gateway whose own certificate is the given one", async (t) => {
		const { cert, key } = selfSigned(await temporaryDirectory(t), name);
		const { gateway, url } = await runSecureGateway(t, { cert, key });
		await start(t, url, { ca: new X509Certificate(cert).raw.toString("base64") });
		await (await gateway.connection()).next("state_report");
	});

	for (const [what, issue, reason] of [
		[
			"has expired",
			(authority: Authority) => authority.issue(name, -1),
			/: TLS: a certificate of the server or its authority expired at 20.*Z; the device's clock shows 20/,
		],
		[
			"is not valid yet",
			(authority: Authority) => authority.issueEarly(name),
			/: TLS: a certificate .* is valid from 2090-01-01T00:00:00Z, but the device's clock shows 20/,
		],
		[
			"is for another name",
			(authority: Authority) => authority.issue("DNS:gateway.lan,IP:127.0.0.2"),
			/: TLS: the server's certificate is for gateway\.lan, 127\.0\.0\.2, not for 127\.0\.0\.1/,
		],
	] as const)
		test(`rejects a gateway whose certificate ${what} and reports it`, async (t) => {
			const authority = new Authority(await temporaryDirectory(t), "authority");
			const { cert, key } = issue(authority);
			const { gateway, url } = await runSecureGateway(t, { cert: cert + authority.certificate, key });
			const device = await start(t, url, { ca: authority.base64 });
			await device.traced(reason);
			assert.equal(gateway.server.clients.size, 0);
		});

	/** Sends an update command with this address and authority. */
	async function fetchFrom(t: TestContext, port: number, cert_pem: string): Promise<SimulatedDevice> {
		const gateway = await runScriptedGateway(t);
		const device = await start(t, gateway.url);
		const connection = await gateway.connection();
		await connection.next("state_report");
		connection.send({ command: "start_ota", url: `https://127.0.0.1:${port}/firmware.bin`, cert_pem });
		return device;
	}

	/**
	 * @param signature replaces that of the server's key
	 * @returns the request; undefined: the device closed its first connection without one
	 */
	async function firstRequest(
		t: TestContext,
		{ cert, key }: Certificate,
		authority: string,
		signature?: readonly number[],
	) {
		const { promise, resolve } = withResolvers<string | undefined>();
		const server = createHttpsServer({ cert, key, maxVersion: "TLSv1.2" }, (request, response) => {
			resolve(request.url);
			response.writeHead(404, { "Content-Length": 0 }).end();
		});
		server.on("connection", (socket) => socket.on("close", () => resolve(undefined)));
		const genuine = await listen(t, server);
		const port = signature ? await listen(t, forge(genuine, signature)) : genuine;
		const device = await fetchFrom(t, port, authority);
		return { device, asked: await promise };
	}

	for (const kind of ["rsa", "ec"] satisfies KeyKind[])
		test(`sends the request to a genuine server with ${kind} keys that also sends its authority`, async (t) => {
			const authority = new Authority(await temporaryDirectory(t), "authority", kind);
			const { cert, key } = authority.issue(name);
			const chain = { cert: cert + authority.certificate, key };
			const { asked } = await firstRequest(t, chain, authority.certificate);
			assert.equal(asked, "/firmware.bin");
		});

	test("rejects a self-signed certificate before the authority's public one", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "authority");
		const { cert, key } = new Authority(folder, "other").issue(name);
		const chain = { cert: cert + authority.certificate, key };
		const { device, asked } = await firstRequest(t, chain, authority.certificate);
		assert.equal(asked, undefined);
		await device.traced(/certificate 1 is not signed by the next one/);
	});

	test("rejects a certificate issued by the holder of another one that is no authority", async (t) => {
		const authority = new Authority(await temporaryDirectory(t), "authority");
		const holder = authority.issue("DNS:elsewhere.lan");
		const { cert, key } = authority.issueBelow(holder, name);
		const chain = { cert: cert + holder.cert + authority.certificate, key };
		const { device, asked } = await firstRequest(t, chain, authority.certificate);
		assert.equal(asked, undefined);
		await device.traced(/certificate 2 is not that of an authority/);
	});

	for (const [what, kind, signature, rejection] of [
		[
			"without a signature of its key",
			"rsa",
			[0, 0, 0, 1, 0],
			/signed with hash 0 and signature algorithm 0/,
		],
		[
			"with another signature of its key",
			"ec",
			[4, 3, 0, 8, 0x30, 6, 2, 1, 7, 2, 1, 8],
			/failed to verify signature/,
		],
	] as const)
		test(`rejects a genuine server's certificates ${what}`, async (t) => {
			const authority = new Authority(await temporaryDirectory(t), "authority", kind);
			const { cert, key } = authority.issue(name);
			const chain = { cert: cert + authority.certificate, key };
			const { device, asked } = await firstRequest(t, chain, authority.certificate, signature);
			assert.equal(asked, undefined);
			await device.traced(rejection);
		});

	for (const [what, answer] of [
		["close_notify", "15030300020100"],
		["handshake_failure", "15030300020228"],
		["a ServerHello of TLS 1.1", `160302002a02000026${"0302"}${"00".repeat(32)}00c02f00`],
	] as const)
		test(`sends no unencrypted data to a forged server that responds with ${what}`, async (t) => {
			const { promise, resolve } = withResolvers<string>();
			const server = createServer((socket) => {
				let heard = "";
				socket.on("error", () => {});
				socket.on("close", () => resolve(heard));
				socket.once("data", () => socket.write(Buffer.from(answer, "hex")));
				socket.on("data", (bytes) => {
					heard += bytes.toString("latin1");
					if (heard.includes(testToken)) resolve(heard);
				});
			});
			const device = await start(t, `wss://127.0.0.1:${await listen(t, server)}/device`);
			assert.doesNotMatch(await promise, /HTTP|Bearer/);
			await device.traced(/TLS: .*alert/);
		});
});

/**
 * Forwards connections to a TLS 1.2 server, and replaces the signature of its ServerKeyExchange (RFC 8422, 5.4).
 *
 * @param signature hash, type, length and bytes
 */
function forge(port: number, signature: readonly number[]): Server {
	return createServer((device) => {
		const server = connect(port, "127.0.0.1");
		for (const socket of [device, server])
			socket
				.on("error", () => {})
				.on("close", () => {
					device.destroy();
					server.destroy();
				});
		device.pipe(server);
		let received = Buffer.alloc(0);
		server.on("data", (bytes: Buffer) => {
			received = Buffer.concat([received, bytes]);
			for (;;) {
				const end = received.length < 5 ? Number.POSITIVE_INFINITY : 5 + received.readUInt16BE(3);
				if (received.length < end) return;
				const record = received.subarray(0, end);
				received = received.subarray(end);
				device.write(record[0] === 22 && record[5] === 12 ? withSignature(record, signature) : record);
			}
		});
	});
}

/** @param record with a ServerKeyExchange alone: 4 bytes of head, 3 of the curve, and the point before its signature */
function withSignature(record: Buffer, signature: readonly number[]): Buffer {
	const key = [...record.subarray(9, 13 + record.readUInt8(12)), ...signature];
	return Buffer.from([...record.subarray(0, 3), 0, key.length + 4, 12, 0, 0, key.length, ...key]);
}

/** Replaces Promise.withResolvers, which Node before 22 lacks. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
	let resolve: (value: T) => void = () => {};
	const promise = new Promise<T>((settle) => {
		resolve = settle;
	});
	return { promise, resolve };
}
