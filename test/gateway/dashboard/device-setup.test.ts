import assert from "node:assert/strict";
import { get } from "node:https";
import { json } from "node:stream/consumers";
import { describe, test } from "node:test";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { deviceAddresses } from "../../../gateway/http/server.js";
import { defaultSettings } from "../../../gateway/settings.js";
import { Authority, selfSigned, tlsFiles } from "../../support/certificates.js";
import { nextEvent } from "../../support/eventually.js";
import { whyMissing } from "../../support/programs.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

const askFor = (
	url: string,
	body: string,
	headers: Readonly<Record<string, string>> = bearer(monitorToken),
) => fetch(`${url}/api/device-tokens`, { method: "POST", headers, body });

describe("device token", () => {
	test("is created for a monitor, never cached, and valid only for that device", async (t) => {
		const { url, device, rejected } = await runGateway(t);
		const response = await askFor(url, '{"deviceId":"dev-1-a1b2c3"}');
		assert.equal(response.status, 201);
		assert.equal(response.headers.get("cache-control"), "no-store");
		const token = deviceTokenOf(deviceToken, "dev-1-a1b2c3");
		assert.deepEqual(await response.json(), { token });
		await device({ ...bearer(token), "Device-Id": "dev-1-a1b2c3" });
		const { status } = await rejected("/device", { ...bearer(token), "Device-Id": "dev-1-ffffff" });
		assert.equal(status, 403);
	});

	test("is rejected with a message for an invalid device id", async (t) => {
		const { url } = await runGateway(t);
		for (const [body, status, detail] of [
			['{"deviceId":"dev 1"}', 422, /"deviceId must be letters, digits/],
			["{}", 422, /"deviceId is missing\."/],
			["deviceId=dev-1-a1b2c3", 400, /"Send JSON of at most 4 KiB/],
			[`{"deviceId":"dev-1-a1b2c3"}${" ".repeat(5000)}`, 400, /"Send JSON of at most 4 KiB/],
		] as const) {
			const response = await askFor(url, body);
			assert.equal(response.status, status, body.slice(0, 40));
			assert.match(await response.text(), detail);
		}
	});
});

describe("gateway address for devices", () => {
	test("is sent to a monitor", async (t) => {
		const { url } = await runGateway(t);
		const response = await fetch(`${url}/api/device-setup`, { headers: bearer(monitorToken) });
		assert.equal(response.headers.get("cache-control"), "no-store");
		const addresses = [`${url.replace("http", "ws")}/device`];
		assert.deepEqual(await response.json(), { addresses, authority: null });
		assert.equal((await fetch(`${url}/api/device-setup`, { headers: bearer(deviceToken) })).status, 401);
	});

	test("includes the authority if the gateway's own one signed its certificate", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "test");
		const { cert, key } = authority.issue("IP:127.0.0.1");
		const tls = tlsFiles(folder, { cert: `${cert}${authority.certificate}`, key });
		const { url } = await runGateway(t, { tls, authority: authority.certificate });
		const asked = get(`${url}/api/device-setup`, {
			ca: authority.certificate,
			headers: bearer(monitorToken),
		});
		const [response] = await nextEvent(asked, "response");
		assert.deepEqual(await json(response), {
			addresses: [`${url.replace("https", "wss")}/device`],
			authority: authority.certificate,
		});
	});

	test("includes a self-signed certificate", { skip: whyMissing("openssl") }, async (t) => {
		const folder = await temporaryDirectory(t);
		const { cert, key } = selfSigned(folder, "IP:127.0.0.1");
		const { url } = await runGateway(t, { tls: tlsFiles(folder, { cert, key }) });
		const asked = get(`${url}/api/device-setup`, { ca: cert, headers: bearer(monitorToken) });
		const [response] = await nextEvent(asked, "response");
		assert.deepEqual(await json(response), {
			addresses: [`${url.replace("https", "wss")}/device`],
			authority: cert,
		});
	});

	test("lists all interface addresses except loopback when listening on all", () => {
		for (const address of deviceAddresses({ ...defaultSettings, host: "0.0.0.0" }, 8080)) {
			assert.match(address, /^ws:\/\/\d+\.\d+\.\d+\.\d+:8080\/device$/);
			assert.doesNotMatch(address, /127\.0\.0\.1/);
		}
	});

	test("uses PUBLIC_URL behind a proxy, with its path and TLS", () => {
		const of = (url: string) =>
			deviceAddresses({ ...defaultSettings, host: "0.0.0.0", publicUrl: new URL(url) }, 8080);
		assert.deepEqual(of("https://gateway.example"), ["wss://gateway.example/device"]);
		assert.deepEqual(of("http://10.0.0.1:81/gw/"), ["ws://10.0.0.1:81/gw/device"]);
		assert.deepEqual(of("https://M\u00fcnchen.example"), ["wss://xn--mnchen-3ya.example/device"]);
	});
});
