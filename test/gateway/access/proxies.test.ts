import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { baseUrlOf, networkOf, readForwarded, remoteAddressOf } from "../../../gateway/access/origin.js";
import { readSettings } from "../../../gateway/settings.js";
import { incomingRequest } from "../../support/incoming-request.js";
import { postToken } from "../../support/logins.js";
import { bearer, monitorToken, type RunningGateway, runGateway, runWatched } from "../../support/running.js";

const wrong = bearer("a-wrong-token-of-someone");

function trusting(TRUST_PROXY: string) {
	const { trustProxy } = readSettings({ TRUST_PROXY });
	return { trustProxy };
}

/** Status after eleven invalid tokens, each forwarded for another client. */
async function afterEleven({ url }: RunningGateway, forwardedFor: (attempt: number) => string) {
	let status = 0;
	for (let attempt = 0; attempt < 11; attempt += 1) {
		const headers = { ...wrong, "X-Forwarded-For": forwardedFor(attempt) };
		({ status } = await fetch(`${url}/metrics`, { headers }));
	}
	return status;
}

describe("X-Forwarded-For", () => {
	test("is the client's address if TRUST_PROXY names the peer, as far as trusted proxies have written it", async (t) => {
		const { gateway, monitor } = await runWatched(t, trusting("1"));
		assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}`), 401);
		assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}, 198.51.100.1`), 429);
		assert.equal(await afterEleven(gateway, (attempt) => `client ${attempt}`), 429, "no address");
		await gateway.device({ "X-Forwarded-For": "192.0.2.7" });
		assert.equal((await monitor.change("connected")).remoteAddress, "192.0.2.7");
	});

	test("counts IPv6 by /64, and IPv4-mapped addresses as IPv4", () => {
		for (const [network, ...addresses] of [
			["2001:db8:0:1::/64", "2001:db8:0:1:5::1", "2001:DB8::1:0:0:0:7"],
			["2001:db8:1:2::/64", "2001:db8:1:2::1"],
			["fe80::/64", "fe80::1%eth0"],
			["192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"],
		] as const)
			for (const address of addresses) assert.equal(networkOf(address), network, address);
	});
});

describe("X-Forwarded-Proto and -Host", () => {
	const headers = {
		"X-Forwarded-Proto": "https",
		"X-Forwarded-Host": "gateway.example",
		Origin: "https://gateway.example",
	};
	const logIn = ({ url }: RunningGateway, changed: Readonly<Record<string, string>> = {}) =>
		postToken(url, monitorToken, { ...headers, ...changed });

	test("determine the client's address of the gateway if the peer is trusted", async (t) => {
		const response = await logIn(await runGateway(t, trusting("loopback")));
		assert.equal(response.status, 303);
		assert.match(response.headers.getSetCookie()[0] ?? "", /; Secure/);
	});

	test("are ignored, like X-Forwarded-For, if the peer is not trusted", async (t) => {
		for (const settings of [{}, trusting("192.0.2.1, 10.0.0.0/8")]) {
			const gateway = await runGateway(t, settings);
			assert.equal((await logIn(gateway)).status, 403);
			assert.equal(await afterEleven(gateway, (attempt) => `192.0.2.${attempt}`), 429);
		}
	});

	test("use the first value, written by the proxy next to the client, if it is http or https", async (t) => {
		const gateway = await runGateway(t, trusting("loopback"));
		const two = { "X-Forwarded-Proto": "https, http", "X-Forwarded-Host": "gateway.example, inner.example" };
		assert.equal((await logIn(gateway, two)).status, 303);
		const other = { "X-Forwarded-Proto": "ftp", Origin: "http://gateway.example" };
		assert.equal((await logIn(gateway, other)).status, 303);
	});
});

describe("client address and base URL for devices behind", () => {
	const publicUrl = new URL("https://gw.example:8443/");
	const client = "203.0.113.7";
	const host = "gw.example:8443";
	/** X-Forwarded headers by the end of their names. */
	const forwarded = (fields: Readonly<Record<string, string>>) =>
		Object.fromEntries(Object.entries(fields).map(([name, text]) => [`x-forwarded-${name}`, text]));
	const https = forwarded({ for: client, proto: "https" });
	/** Headers, client address and base URL (default: PUBLIC_URL) by proxy. */
	const cases: Readonly<Record<string, readonly [Readonly<Record<string, string>>, string, string?]>> = {
		"Traefik, for a WebSocket": [
			{ host, ...forwarded({ for: client, host, port: "8443", proto: "wss" }) },
			client,
		],
		"Traefik at another host": [
			{ host: "tv.example", ...forwarded({ for: client, proto: "ws" }) },
			client,
			"http://tv.example",
		],
		"Nginx Proxy Manager, whose Host lacks the port": [{ host: "gw.example", ...https }, client],
		"a proxy that only forwards a Host without the port": [{ host: "gw.example" }, "127.0.0.1"],
		"a proxy at the gateway's own port": [{ host: "gw.example:8080" }, "127.0.0.1", "http://gw.example:8080"],
		Envoy: [{ host, ...forwarded({ for: "2001:db8::7", proto: "HTTPS" }) }, "2001:db8::7"],
		"Azure's Application Gateway, with the client's port": [
			{
				host: "backend.internal",
				...forwarded({ for: `${client}:51234`, proto: "https", port: "8443" }),
				"x-original-host": host,
			},
			client,
		],
		"Azure's Front Door": [{ host: "backend.internal", ...https, "x-forwarded-host": host }, client],
		"Cloudflare, with an address forged by the client": [
			{ host, ...https, "x-forwarded-for": `192.0.2.1,${client}` },
			client,
		],
		"a proxy that forwards the client's own Forwarded": [
			{ host, "x-forwarded-for": client, forwarded: "for=192.0.2.1;host=evil.example" },
			client,
		],
	};
	test("any common proxy", () => {
		for (const [what, [headers, address, base = "https://gw.example:8443"]] of Object.entries(cases)) {
			const request = incomingRequest("127.0.0.1", headers);
			readForwarded(request, (_address, hop) => hop < 1);
			assert.deepEqual([remoteAddressOf(request), baseUrlOf(request, publicUrl)], [address, base], what);
		}
	});

	test("two proxies, the first with any form of address", () => {
		const behindTwo = (headers: Readonly<Record<string, string>>) => {
			const request = incomingRequest("127.0.0.1", headers);
			readForwarded(request, (_address, hop) => hop < 2);
			return remoteAddressOf(request);
		};
		for (const [node, address] of [
			[`${client}:51234`, client],
			[`"${client}:51234"`, client],
			['"[2001:db8::7]:443"', "2001:db8::7"],
			["[2001:db8::7]", "2001:db8::7"],
			["2001:db8::7:51234", "2001:db8::7"],
			["::ffff:203.0.113.7", client],
			["::ffff:203.0.113.7:51234", client],
			["unknown", "198.51.100.1"],
			["_hidden", "198.51.100.1"],
			["unix:", "198.51.100.1"],
			["999.0.0.1", "198.51.100.1"],
		] as const)
			assert.equal(behindTwo({ "x-forwarded-for": `192.0.2.1, ${node}, 198.51.100.1` }), address, node);
		// On a Unix socket, between two others.
		assert.equal(behindTwo({ "x-forwarded-for": `${client}, unix:` }), client);
	});

	test("proxies trusted by address, with ports", () => {
		const { trustProxy } = trusting("127.0.0.1,198.51.100.0/24");
		const request = incomingRequest("127.0.0.1", { "x-forwarded-for": `${client}:1, 198.51.100.1:2` });
		if (trustProxy) readForwarded(request, trustProxy);
		assert.equal(remoteAddressOf(request), client);
	});
});

describe("TRUST_PROXY", () => {
	test("is rejected unless it consists of addresses, networks or a number of proxies", () => {
		for (const text of ["0", "proxy.example", "127.0.0.1,,", "10.0.0.0/33", "-1"])
			assert.throws(() => trusting(text), { name: "StartError", message: /TRUST_PROXY/ }, text);
	});

	test("is rejected with AUTH=off, which would accept every client of the proxy", async (t) => {
		await assert.rejects(runGateway(t, { auth: false, ...trusting("1") }), /are mutually exclusive/);
	});
});
