/** The gateway behind nginx as Debian ships it, under a path, with and without TLS, beside devices that connect directly. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { hasNginx, howToInstall, Nginx } from "../bench/servers/nginx.js";
import { Authority, whyNoCertificates } from "../support/certificates.js";
import { onEnd } from "../support/cleanup.js";
import { type Fleet, runFleet } from "../support/fleet.js";
import { freePort } from "../support/ports.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";
import { filePart, form, formHeaders } from "../support/serving.js";

const skip = hasNginx() ? whyNoCertificates() : howToInstall;

interface Proxied {
	readonly fleet: Fleet;
	/** Such as `https://127.0.0.1:40123/gw`. */
	readonly url: string;
	readonly authority: Authority;
	/** A request through nginx; `path` begins with a slash. */
	ask(path: string, options?: RequestOptions, body?: Buffer | string): Promise<Answer>;
	/** An open WebSocket through nginx. */
	open(path: string, headers: Readonly<Record<string, string>>): Promise<Client>;
}

interface Answer {
	readonly status: number | undefined;
	readonly headers: Readonly<Record<string, string | string[] | undefined>>;
	readonly body: string;
}

/** A gateway without TLS, and nginx at `/gw/` before it. */
async function runProxied(t: TestContext, scheme: "http" | "https"): Promise<Proxied> {
	const authority = new Authority(await temporaryDirectory(t), "authority");
	const port = await freePort();
	const url = `${scheme}://127.0.0.1:${port}/gw`;
	const fleet = await runFleet(t, undefined, { publicUrl: new URL(url) });
	const { cert, key } = authority.issue("IP:127.0.0.1");
	const tls = "ssl_certificate www/cert.pem; ssl_certificate_key www/key.pem;";
	const server = `
		listen 127.0.0.1:${port} ${scheme === "https" ? `ssl; ${tls}` : ";"}
		client_max_body_size 20m;
		location /gw/ {
			proxy_pass ${fleet.url}/;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Upgrade $http_upgrade;
			proxy_set_header Connection $connection_upgrade;
		}`;
	const nginx = await Nginx.serve(port, server, { "cert.pem": cert, "key.pem": key });
	onEnd(t, () => nginx.close());
	const ca = authority.certificate;
	return {
		fleet,
		url,
		authority,
		ask: async (path, options = {}, body) => {
			const start = scheme === "https" ? httpsRequest : httpRequest;
			const request = start(`${url}${path}`, { ...options, ca }).end(body);
			const [response] = await once(request, "response");
			return { status: response.statusCode, headers: response.headers, body: await text(response) };
		},
		open: async (path, headers) => {
			const client = new Client(`${url.replace("http", "ws")}${path}`, { headers, ca });
			onEnd(t, () => client.socket.terminate());
			await once(client.socket, "open");
			return client;
		},
	};
}

for (const scheme of ["http", "https"] as const) {
	test(`behind ${scheme} at a path, addresses lead through the proxy again`, { skip }, async (t) => {
		const { url, ask, open } = await runProxied(t, scheme);
		const { bytes } = await buildFirmware();
		const image = makeVirtualImage(bytes, "DEV-1", "1.1.0");
		const headers = { ...bearer(monitorToken), ...formHeaders };
		const uploaded = await ask("/ota/upload", { method: "POST", headers }, form(filePart(image)));
		assert.equal(uploaded.status, 201, uploaded.body);
		const location = new URL(String(uploaded.headers.location), `${url}/ota/upload`);
		assert.equal(location.href, `${url}/ota/firmware.bin`);

		const { origin } = new URL(url);
		const loggedIn = await ask(
			"/login",
			{ method: "POST", headers: { origin, "Content-Type": "application/x-www-form-urlencoded" } },
			`token=${monitorToken}`,
		);
		assert.equal(loggedIn.status, 303, loggedIn.body);
		const [cookie = ""] = loggedIn.headers["set-cookie"] ?? [];
		assert.match(cookie, /; Path=\/gw(;|$)/);
		assert.equal(cookie.includes("; Secure"), scheme === "https");
		const monitor = await open("/monitor", { cookie: cookie.split(";")[0] ?? "", origin });
		assert.equal((await monitor.next()).reason, "snapshot");

		const device = await open("/device", {
			...bearer(deviceToken),
			"Device-Id": "dev-1-a1b2c3",
			"Device-Model": "DEV-1",
			"Device-Chip": "virtual",
		});
		assert.equal((await monitor.ask({ type: "trigger_ota", targetId: "dev-1-a1b2c3" })).type, "ack");
		const command = JSON.parse(await device.nextText());
		assert.deepEqual(command, { command: "start_ota", url: `${url}/ota/firmware.bin` });
		const block = await ask(command.url.slice(url.length), {
			headers: { ...bearer(deviceToken), Range: "bytes=0-15" },
		});
		assert.deepEqual([block.status, block.headers["content-range"]], [206, `bytes 0-15/${image.length}`]);
	});

	test(`behind ${scheme} at a path, devices in XS are updated, and so is one that connects directly`, {
		skip,
	}, async (t) => {
		const { fleet, url, authority } = await runProxied(t, scheme);
		const { bytes } = await buildFirmware();
		await fleet.release("1.1.0", makeVirtualImage(bytes, "DEV-1", "1.1.0"));
		const proxied = {
			gateway: `${url.replace("http", "ws")}/device`,
			token: deviceToken,
			ca: authority.base64,
		};
		const started = [
			await fleet.powerOn("DEV-1", { version: "1.0.0", settings: proxied }),
			await fleet.powerOn("DEV-1", { version: "1.0.0", serial: "a1b2c4" }),
		];
		for (const { report } of started) await report();
		for (const { deviceId: targetId } of started) {
			assert.equal((await fleet.monitorClient.ask({ type: "trigger_ota", targetId })).type, "ack");
		}
		const ends = await fleet.updateEnds(started.map(({ deviceId }) => deviceId));
		assert.deepEqual(
			ends.map(({ otaStatus }) => otaStatus),
			["updated", "updated"],
			JSON.stringify(ends),
		);
	});
}
