/** TLS session of the boards over a fake of the SDK's. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadClass } from "../load.js";

const ciphers = { clientCipher: {}, serverCipher: {} };

/** Starts a session. @param state of the SDK's session after its handshake */
async function start(state: object, hasHeardServer = true) {
	let result: unknown;
	const stepOfSdk = () => {
		if (result instanceof Error) throw result;
		return result;
	};
	class SDKSession {
		alert: unknown = null;
		clientCipher: unknown = null;
		serverCipher: unknown = null;
	}
	Object.assign(SDKSession.prototype, { handshake: stepOfSdk, read: stepOfSdk, readPacket: stepOfSdk });
	const traced: string[] = [];
	const Session = await loadClass(
		"default",
		"moddable/tls/session.ts",
		{ "sdk/ssl/session": SDKSession, "tls/chain": { ChainCertificates: class {} } },
		traced,
	);
	const untrusted: string[] = [];
	const session = new Session({ onUntrusted: (reason: string) => untrusted.push(reason) });
	const step = (name: "handshake" | "read" | "readPacket", ofSdk: unknown): unknown => {
		result = ofSdk;
		return session[name]?.({});
	};
	// Messages of a server until it waits for the client's key, one record each.
	const signed = [3, 0, 23, 1, 4, 4, 1, 0, 1, 9];
	if (hasHeardServer)
		for (const [type = 0, ...body] of [[2], [11], [12, ...signed], [14]])
			step(
				"readPacket",
				Uint8Array.of(22, 3, 3, 0, body.length + 4, type, 0, 0, body.length, ...body).buffer,
			);
	Object.assign(session, state);
	return { traced, untrusted, step };
}

describe("TLS session", () => {
	test("throws to the socket's guard during the handshake, and stays rejected", async () => {
		const { untrusted, step } = await start({}, false);
		assert.throws(() => step("read", new Error("certificate: auth err")), /auth err/);
		assert.deepEqual(untrusted, ["certificate: auth err"]);
		assert.throws(() => step("handshake", true), /already rejected/);
	});

	test("ends at a record that does not decrypt", async () => {
		const { traced, step } = await start(ciphers);
		assert.equal(step("handshake", true), true);
		assert.equal(step("read", new Error("bad record mac")), null);
		assert.match(traced.join(""), /bad record mac/);
		const data = new Uint8Array(3);
		assert.equal(step("read", data), data);
	});

	for (const [what, state, hasHeardServer] of [
		["an alert", { ...ciphers, alert: { level: 1, description: 0 } }, true],
		["only the server encrypting", { serverCipher: {} }, true],
		["only the client encrypting", { clientCipher: {} }, true],
		["a server that has not authenticated itself", ciphers, false],
	] as const)
		test(`is not established after ending with ${what}, although the SDK says so`, async () => {
			const { step } = await start(state, hasHeardServer);
			assert.throws(() => step("handshake", true), /^Error: TLS: (alert|the handshake ended)/);
		});

	test("does not check encrypted records", async () => {
		const { step } = await start(ciphers);
		const record = Uint8Array.of(23, 3, 3, 0, 1, 7).buffer;
		assert.equal(step("readPacket", record), record);
	});
});
