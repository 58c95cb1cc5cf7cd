/** Gateway behind Debian's nginx and Caddy with the documented configurations. */

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
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
import { runFleet } from "../support/fleet.js";
import { makeImage } from "../support/images.js";
import { freePort } from "../support/ports.js";
import { pathOf, whyMissing } from "../support/programs.js";
import { bearer, Client, deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";
import { startProgram } from "../support/server-program.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";
import { passUntil } from "../support/virtual-time.js";

interface Site {
	readonly port: number;
	/** Address of the gateway. */
	readonly gateway: string;
	/** Path of the gateway at the proxy. */
	readonly at: "/" | "/gw/";
	readonly isSecure: boolean;
}

/** Starts a proxy. @returns the certificate of its authority in PEM */
type StartProxy = (t: TestContext, site: Site) => Promise<string>;

/** Reads a configuration and replaces each text, which it contains once. */
async function configure(path: string, replaced: Readonly<Record<string, string>>): Promise<string> {
	let block = await readFile(path, "utf8");
	for (const [from, to] of Object.entries(replaced)) {
		assert.equal(block.split(from).length, 2, `${from} is in ${path} once`);
		block = block.replace(from, to);
	}
	return block;
}

const nginxWith =
	(change: (block: string) => string): StartProxy =>
	async (t, { port, gateway, at, isSecure }) => {
		const authority = new Authority(await temporaryDirectory(t), "authority");
		const { cert, key } = authority.issue("IP:127.0.0.1");
		const block = await configure("gateway/nginx.conf", {
			"listen 443 ssl;": `listen 127.0.0.1:${port}${isSecure ? " ssl" : ""};`,
			"/etc/nginx/gateway.pem": "www/cert.pem",
			"/etc/nginx/gateway.key": "www/key.pem",
			"location / {": `location ${at} {`,
			"http://127.0.0.1:8080;": `${gateway}${at === "/" ? "" : "/"};`,
		});
		await Nginx.serve(t, port, change(block), { "cert.pem": cert, "key.pem": key });
		return authority.certificate;
	};
const nginx = nginxWith((block) => block);

const caddy: StartProxy = async (t, { port, gateway }) => {
	const folder = await temporaryDirectory(t);
	const site = await configure("gateway/Caddyfile", {
		"gateway.example": `https://127.0.0.1:${port}`,
		"127.0.0.1:8080": new URL(gateway).host,
	});
	// The computer's trust store is unchanged.
	const global = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n";
	const file = join(folder, "Caddyfile");
	await writeFile(file, `${global}${site}`);
	startProgram(t, pathOf("caddy"), ["run", "--adapter", "caddyfile", "--config", file], {
		env: { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
	});
	const readCertificate = () => readFile(join(folder, "caddy/pki/authorities/local/root.crt"), "utf8");
	return eventually(readCertificate, (certificate) => certificate.includes("END CERTIFICATE"));
};

/** Runs a gateway without TLS behind a proxy. */
async function runProxied(t: TestContext, start: StartProxy, at: Site["at"] = "/", isSecure = true) {
	const port = await freePort();
	const url = `${isSecure ? "https" : "http"}://127.0.0.1:${port}${at.slice(0, -1)}`;
	const fleet = await runFleet(t, undefined, {
		publicUrl: new URL(url),
		trustProxy: (address) => address === "127.0.0.1",
	});
	const ca = await start(t, { port, gateway: fleet.url, at, isSecure });
	return {
		fleet,
		/** Base URL, for example `https://127.0.0.1:40123/gw`. */
		url,
		/** Authority of the proxy, as devices store it. */
		ca: new X509Certificate(ca).raw.toString("base64"),
		/** Sends a request through the proxy; `path` begins with a slash. */
		ask: async (path: string, options: RequestOptions = {}, body?: Buffer | string) => {
			const request = (isSecure ? httpsRequest : httpRequest)(`${url}${path}`, { ...options, ca }).end(body);
			const [response] = await nextEvent(request, "response");
			return { status: response.statusCode, headers: response.headers, body: await text(response) };
		},
		/** Opens a WebSocket through the proxy. @param localAddress of the client */
		open: async (
			path: string,
			headers: Readonly<Record<string, string>>,
			localAddress = "127.0.0.1",
		): Promise<Client> => {
			const client = new Client(`${url.replace("http", "ws")}${path}`, { headers, ca, localAddress });
			onEnd(t, () => client.socket.terminate());
			await nextEvent(client.socket, "open");
			return client;
		},
	};
}

const largeImage = makeImage({ segments: [Buffer.alloc(3 << 20, "abcdefg")] });
const upload = { method: "POST", headers: { ...bearer(monitorToken), ...formHeaders } };

for (const [name, start, skip] of [
	["gateway/nginx.conf", nginx, whyMissing("nginx", "openssl")],
	["gateway/Caddyfile", caddy, whyMissing("caddy")],
] as const)
	test(`${name} forwards devices, monitors, an image of 3 MB and a sound`, { skip }, async (t) => {
		const { fleet, ask, open, ca } = await runProxied(t, start);
		const headers = bearer(monitorToken);
		const readSetup = () => ask("/api/device-setup", { headers });
		const { body: setup } = await eventually(readSetup, ({ status }) => status === 200);
		const settings = { gateway: JSON.parse(setup).addresses[0], token: deviceToken, ca };
		const { device, deviceId, report } = await fleet.powerOn("DEV-1", { settings, clock: "virtual" });
		await report();
		const monitor = await open("/monitor", headers);
		const volume = { command: "set_volume", value: 37 };
		monitor.send({ type: "control_device", targetId: deviceId, payload: volume });
		await monitor.until(({ message }) => JSON.stringify(message ?? "").includes('"volume":37'));

		const uploaded = await ask("/ota/upload", upload, form(filePart(largeImage)));
		assert.equal(uploaded.status, 201, uploaded.body);
		const rejected = await ask("/ota/upload", upload, form(filePart(largeImage.subarray(7))));
		assert.equal(rejected.status, 422);
		assert.match(problemDetail(422, rejected.body), /image/, "message of the gateway");

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

test("attributes an image rejected by nginx's own limit to the proxy", {
	skip: whyMissing("nginx", "openssl"),
}, async (t) => {
	const withoutLimit = nginxWith((block) => block.replace(/client_max_body_size .+;/, ""));
	const { ask } = await runProxied(t, withoutLimit, "/", false);
	const { status = 0, body } = await ask("/ota/upload", upload, form(filePart(largeImage)));
	assert.equal(status, 413);
	assert.match(problemDetail(status, body), /^A proxy in front of the gateway .+ client_max_body_size\.$/);
});

for (const scheme of ["http", "https"] as const)
	test(`behind ${scheme} under a path, addresses lead through the proxy again`, {
		skip: whyMissing("nginx", "openssl"),
	}, async (t) => {
		const { fleet, url, ca, ask, open } = await runProxied(t, nginx, "/gw/", scheme === "https");
		const { bytes } = await buildFirmware();
		const image = makeVirtualImage(bytes, "DEV-1", "1.1.0");
		const uploaded = await ask("/ota/upload", upload, form(filePart(image)));
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

		const settings = { gateway: `${url.replace("http", "ws")}/device`, token: deviceToken, ca };
		const { deviceId, report } = await fleet.powerOn("DEV-1", {
			version: "1.0.0",
			serial: "a1b2c4",
			settings,
		});
		await report();
		await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId });
		assert.equal((await fleet.updateResult(deviceId)).otaStatus, "updated");
	});
