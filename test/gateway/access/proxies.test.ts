import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StartError } from "../../../gateway/problem.js";
import { readSettings } from "../../../gateway/settings.js";
import { bearer, monitorToken, type Running, runGateway } from "../../support/running.js";

const wrong = bearer("a-wrong-token-of-someone");

function trusting(TRUST_PROXY: string) {
	const { trustProxy } = readSettings({ TRUST_PROXY });
	return { trustProxy };
}

/** The status after eleven wrong tokens, each said to come from the next of these clients. */
async function afterEleven({ url }: Running, forwardedFor: (attempt: number) => string) {
	let status = 0;
	for (let attempt = 0; attempt < 11; attempt += 1) {
		const headers = { ...wrong, "X-Forwarded-For": forwardedFor(attempt) };
		({ status } = await fetch(`${url}/metrics`, { headers }));
	}
	return status;
}

describe("X-Forwarded-For", () => {
	for (const trust of ["127.0.0.1", "10.0.0.0/8, loopback", "1"])
		test(`is the client's address if TRUST_PROXY=${trust} names the peer`, async (t) => {
			const gateway = await runGateway(t, trusting(trust));
			assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}`), 401);
			assert.equal(await afterEleven(gateway, () => "192.0.2.99"), 429);
			const headers = { ...bearer(monitorToken), "X-Forwarded-For": "192.0.2.7" };
			const monitor = await gateway.monitor();
			await gateway.device({ "X-Forwarded-For": headers["X-Forwarded-For"] });
			assert.equal((await monitor.change("connected")).remoteAddress, "192.0.2.7");
		});

	test("counts by /64 for IPv6, and IPv4 mapped into IPv6 as IPv4", async (t) => {
		const gateway = await runGateway(t, trusting("1"));
		assert.equal(await afterEleven(gateway, (attempt) => `2001:db8:0:1:${attempt}::1`), 429);
		assert.equal(await afterEleven(gateway, (attempt) => `2001:DB8::2:0:0:0:${attempt}`), 429);
		assert.equal(await afterEleven(gateway, (attempt) => `2001:db8:1:${attempt}::1`), 401);
		assert.equal(await afterEleven(gateway, (attempt) => `::ffff:192.0.2.${attempt}`), 401);
		assert.equal(await afterEleven(gateway, () => "192.0.2.1"), 429);
	});

	for (const trust of [undefined, "192.0.2.1", "10.0.0.0/8"])
		test(`is ignored if TRUST_PROXY=${trust} does not name the peer`, async (t) => {
			const gateway = await runGateway(t, trust === undefined ? {} : trusting(trust));
			assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}`), 429);
		});

	test("is used only as far as trusted proxies wrote it", async (t) => {
		const gateway = await runGateway(t, trusting("1"));
		assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}, 198.51.100.1`), 429);
	});

	test("is ignored if it is no address", async (t) => {
		const gateway = await runGateway(t, trusting("1"));
		assert.equal(await afterEleven(gateway, (attempt) => `client ${attempt}`), 429);
	});
});

describe("X-Forwarded-Proto and -Host", () => {
	const headers = {
		"X-Forwarded-Proto": "https",
		"X-Forwarded-Host": "gateway.example",
		Origin: "https://gateway.example",
	};
	const logIn = ({ url }: Running, changed: Readonly<Record<string, string>> = {}) =>
		fetch(`${url}/login`, {
			method: "POST",
			redirect: "manual",
			headers: { ...headers, ...changed },
			body: new URLSearchParams({ token: monitorToken }),
		});

	test("are how the client reached the gateway if the peer is trusted", async (t) => {
		const response = await logIn(await runGateway(t, trusting("loopback")));
		assert.equal(response.status, 303);
		assert.match(response.headers.getSetCookie()[0] ?? "", /; Secure/);
	});

	test("are ignored if it is not", async (t) => {
		assert.equal((await logIn(await runGateway(t))).status, 403);
		assert.equal((await logIn(await runGateway(t, trusting("192.0.2.1")))).status, 403);
	});

	test("are used by their first value, which the proxy next to the client wrote, if it is http or https", async (t) => {
		const gateway = await runGateway(t, trusting("loopback"));
		const two = { "X-Forwarded-Proto": "https, http", "X-Forwarded-Host": "gateway.example, inner.example" };
		assert.equal((await logIn(gateway, two)).status, 303);
		const other = { "X-Forwarded-Proto": "wss", Origin: "http://gateway.example" };
		assert.equal((await logIn(gateway, other)).status, 303);
	});
});

describe("TRUST_PROXY", () => {
	for (const text of ["0", "proxy.example", "127.0.0.1,,", "10.0.0.0/33", "-1"])
		test(`is refused as "${text}"`, () => {
			assert.throws(
				() => trusting(text),
				(error) => error instanceof StartError && /TRUST_PROXY/.test(error.message),
			);
		});

	test("is refused with AUTH=off, which would accept every client of the proxy", async (t) => {
		await assert.rejects(
			runGateway(t, { auth: false, ...trusting("1") }),
			/AUTH=off is for this machine alone/,
		);
	});
});
