/** Gateway behind Debian's nginx with gateway/nginx.conf: alone, under a path, with and without TLS. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { problemDetail } from "../../gateway/api/client/request.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Nginx } from "../bench/servers/nginx.js";
import { Authority } from "../support/certificates.js";
import { onEnd } from "../support/cleanup.js";
import { eventually, nextEvent } from "../support/eventually.js";
import { filePart, form, formHeaders } from "../support/firmware-server.js";
import { type Fleet, runFleet } from "../support/fleet.js";
import { makeImage } from "../support/images.js";
import { freePort } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";
import { passUntil } from "../support/virtual-time.js";

const skip = whyMissing("nginx", "openssl");

interface Proxied {
	readonly fleet: Fleet;
	/** Base URL, for example `https://127.0.0.1:40123/gw`. */
	readonly url: string;
	readonly authority: Authority;
	/** Sends a request through nginx; `path` begins with a slash. */
	ask(path: string, options?: RequestOptions, body?: Buffer | string): Promise<Answer>;
	/** Opens a WebSocket through nginx. @param localAddress of the client */
	open(path: string, headers: Readonly<Record<string, string>>, localAddress?: string): Promise<Client>;
}

interface Answer {
	readonly status: number | undefined;
	readonly headers: Readonly<Record<string, string | string[] | undefined>>;
	readonly body: string;
}

/**
 * gateway/nginx.conf with this test's addresses and certificate.
 * @param at path, for example `/gw/`
 */
async function readBlock(
	port: number,
	scheme: "http" | "https",
	gateway: string,
	at: string,
): Promise<string> {
	const block = await readFile("gateway/nginx.conf", "utf8");
	const replaced = [
		["listen 443 ssl;", `listen 127.0.0.1:${port}${scheme === "https" ? " ssl" : ""};`],
		["/etc/nginx/gateway.pem", "www/cert.pem"],
		["/etc/nginx/gateway.key", "www/key.pem"],
		["location / {", `location ${at} {`],
		["http://127.0.0.1:8080;", `${gateway}${at === "/" ? "" : "/"};`],
	] as const;
	return replaced.reduce((text, [from, to]) => {
		assert.equal(text.split(from).length, 2, `${from} is in the block once`);
		return text.replace(from, to);
	}, block);
}

/**
 * Runs a gateway without TLS behind nginx.
 * @param at path of the gateway at nginx
 * @param change edits nginx's configuration
 */
async function runProxied(
	t: TestContext,
	scheme: "http" | "https",
	at: "/" | "/gw/",
	change = (block: string) => block,
): Promise<Proxied> {
	const authority = new Authority(await temporaryDirectory(t), "authority");
	const port = await freePort();
	const url = `${scheme}://127.0.0.1:${port}${at.slice(0, -1)}`;
	const fleet = await runFleet(t, undefined, {
		publicUrl: new URL(url),
		trustProxy: (address) => address === "127.0.0.1",
	});
	const { cert, key } = authority.issue("IP:127.0.0.1");
	const block = change(await readBlock(port, scheme, fleet.url, at));
	const nginx = await Nginx.serve(port, block, { "cert.pem": cert, "key.pem": key });
	onEnd(t, () => nginx.close());
	const ca = authority.certificate;
	return {
		fleet,
		url,
		authority,
		ask: async (path, options = {}, body) => {
			const start = scheme === "https" ? httpsRequest : httpRequest;
			const request = start(`${url}${path}`, { ...options, ca }).end(body);
			const [response] = await nextEvent(request, "response");
			return { status: response.statusCode, headers: response.headers, body: await text(response) };
		},
		open: async (path, headers, localAddress = "127.0.0.1") => {
			const client = new Client(`${url.replace("http", "ws")}${path}`, { headers, ca, localAddress });
			onEnd(t, () => client.socket.terminate());
			await nextEvent(client.socket, "open");
			return client;
		},
	};
}

const largeImage = makeImage({ segments: [Buffer.alloc(3 << 20, "abcdefg")] });
const upload = { method: "POST", headers: { ...bearer(monitorToken), ...formHeaders } };

test("gateway/nginx.conf forwards devices, monitors, an image of 3 MB and a sound", {
	skip,
}, async (t) => {
	const { fleet, ask, open, authority } = await runProxied(t, "https", "/");
	const headers = bearer(monitorToken);
	const { addresses } = JSON.parse((await ask("/api/device-setup", { headers })).body);
	const settings = { gateway: addresses[0], token: deviceToken, ca: authority.base64 };
	const { device, deviceId, report } = await fleet.powerOn("DEV-1", { settings, clock: "virtual" });
	await report();
	const monitor = await open("/monitor", headers);
	const volume = { command: "set_volume", value: 37 };
	monitor.send({ type: "control_device", targetId: deviceId, payload: volume });
	await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"volume":37'));

	const uploaded = await ask("/ota/upload", upload, form(filePart(largeImage)));
	assert.equal(uploaded.status, 201, uploaded.body);
	const refused = await ask("/ota/upload", upload, form(filePart(largeImage.subarray(7))));
	assert.equal(refused.status, 422);
	assert.match(problemDetail(422, refused.body), /image/, "message of the gateway");

	const samples = noise(bytesPerSecond);
	const heard = capture(device.board);
	const ofSound = { ...headers, "Content-Type": "audio/wav" };
	const sound = await ask("/api/sounds?name=Dinner", { method: "POST", headers: ofSound }, wav(samples));
	assert.equal(sound.status, 201, sound.body);
	const announcement = { targets: { devices: [deviceId] }, sound: JSON.parse(sound.body).id };
	const begun = await ask("/api/announcements", { method: "POST", headers }, JSON.stringify(announcement));
	assert.equal(begun.status, 202, begun.body);
	await passUntil(
		device,
		eventually(() => heard().includes(samples), Boolean),
	);
});

test("attributes an image rejected by nginx's own limit to the proxy", { skip }, async (t) => {
	const { ask } = await runProxied(t, "http", "/", (block) => block.replace(/client_max_body_size .+;/, ""));
	const { status = 0, body } = await ask("/ota/upload", upload, form(filePart(largeImage)));
	assert.equal(status, 413);
	assert.match(problemDetail(status, body), /^A proxy in front of the gateway .+ client_max_body_size\.$/);
});

for (const scheme of ["http", "https"] as const) {
	test(`behind ${scheme} under a path, addresses lead through the proxy again`, { skip }, async (t) => {
		const { url, ask, open } = await runProxied(t, scheme, "/gw/");
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

		const named = { "Device-Id": "dev-1-a1b2c3", "Device-Model": "DEV-1", "Device-Chip": "virtual" };
		const device = await open("/device", { ...bearer(deviceToken), ...named }, "127.0.0.2");
		assert.equal(
			(await monitor.change("connected")).remoteAddress,
			"127.0.0.2",
			"the client's address, not nginx's",
		);
		assert.equal((await monitor.request({ type: "trigger_ota", targetId: "dev-1-a1b2c3" })).type, "ack");
		const command = JSON.parse(await device.nextText());
		const query = `?sha256=${JSON.parse(uploaded.body).sha256}`;
		assert.deepEqual(command, { command: "start_ota", url: `${url}/ota/firmware.bin${query}` });
		const block = await ask(command.url.slice(url.length), {
			headers: { ...bearer(deviceToken), Range: "bytes=0-15" },
		});
		assert.deepEqual([block.status, block.headers["content-range"]], [206, `bytes 0-15/${image.length}`]);
	});

	test(`behind ${scheme} under a path, devices in XS are updated, as is one that connects directly`, {
		skip,
	}, async (t) => {
		const { fleet, url, authority } = await runProxied(t, scheme, "/gw/");
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
			assert.equal((await fleet.monitorClient.request({ type: "trigger_ota", targetId })).type, "ack");
		}
		const ends = await fleet.updateResults(started.map(({ deviceId }) => deviceId));
		assert.deepEqual(
			ends.map(({ otaStatus }) => otaStatus),
			["updated", "updated"],
			JSON.stringify(ends),
		);
	});
}
