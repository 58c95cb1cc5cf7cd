/** Every route and every frame with every kind of token. A new one is in the documents and definitions, and so in here. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { addedMessages } from "../../../gateway/extensions.js";
import { monitorMessages } from "../../../gateway/sockets/monitor-commands.js";
import { monitorExamples } from "../../../scripts/api/examples.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type Running,
	temporaryDirectory,
} from "../../support/running.js";
import { examplePath } from "../api/probes.js";
import { ApiDocument } from "../api/schemas.js";
import { ask } from "../api/server.js";
import { runWholeGateway } from "../api/whole-gateway.js";

const viewerToken = "viewer-token-of-the-fixtures";
/** All others need a token. */
const open = [
	"GET /healthz",
	"GET /readyz",
	"GET /device",
	"GET /monitor",
	"GET /login",
	"POST /login",
	"POST /logout",
];
/** With the token of devices a viewer could act as one. */
const closedToViewers = ["GET /api/device-token"];
const openToViewers = ["POST /api/rollouts/preview"];
/** Whether a viewer may send it. */
const messages: Readonly<Record<string, boolean>> = {
	boot_device: false,
	control_device: false,
	trigger_ota: false,
	subscribe: true,
};

type Headers = Readonly<Record<string, string>>;

async function run(t: TestContext): Promise<Running> {
	const dataDir = await temporaryDirectory(t);
	const named = [{ name: "lobby-screen", role: "viewer", token: viewerToken } as const];
	await writeTokenFile(fs, tokenPath(dataDir), { device: deviceToken, monitor: monitorToken, named });
	return runWholeGateway(t, { dataDir, deviceToken: undefined, monitorToken: undefined });
}

async function logIn(url: string, token: string): Promise<Headers> {
	const body = new URLSearchParams({ token });
	const response = await fetch(`${url}/login`, { method: "POST", body, redirect: "manual" });
	return { cookie: response.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
}

async function clientsOf({ url }: Running) {
	return {
		none: {},
		device: bearer(deviceToken),
		"own device": bearer(deviceTokenOf(deviceToken, "dev-1-a1b2c3")),
		viewer: bearer(viewerToken),
		monitor: bearer(monitorToken),
		cookie: await logIn(url, monitorToken),
		"viewer's cookie": await logIn(url, viewerToken),
	} as const satisfies Readonly<Record<string, Headers>>;
}

describe("with no token, a device's, its own, a viewer's, a monitor's and their cookies", () => {
	test("each route of openapi.yaml admits those that it names, and a viewer only to look", async (t) => {
		const gateway = await run(t);
		const clients = await clientsOf(gateway);
		const document = new ApiDocument("openapi.yaml");
		for (const path of Object.keys(document.at("paths")))
			for (const name of Object.keys(document.at("paths", path)).filter((each) => each !== "parameters")) {
				const { security, tags } = document.at("paths", path, name);
				assert.ok(Array.isArray(security), `${name} ${path} has no security`);
				if (Array.isArray(tags) && !existsSync(`gateway/${tags[0]}`)) continue;
				const method = name.toUpperCase();
				const route = `${method} ${path}`;
				const schemes = security.flatMap((scheme) => Object.keys(scheme));
				assert.equal(schemes.length === 0, open.includes(route), `${route}: who needs no token?`);
				if (schemes.length === 0) continue;
				const isForDevices = schemes.includes("deviceToken");
				const isForMonitors = schemes.includes("monitorToken");
				const isRead = method === "GET" ? !closedToViewers.includes(route) : openToViewers.includes(route);
				const viewer = isForMonitors && isRead ? "admitted" : "forbidden";
				const expected = {
					none: "refused",
					device: isForDevices ? "admitted" : "refused",
					"own device": isForDevices ? "admitted" : "refused",
					viewer,
					monitor: isForMonitors ? "admitted" : "refused",
					cookie: isForMonitors ? "admitted" : "refused",
					"viewer's cookie": viewer,
				};
				const found: Record<string, string> = {};
				for (const [client, headers] of Object.entries(clients)) {
					const { status, body } = await ask(gateway.url, method, { path: examplePath(path), headers });
					// After ten wrong tokens 429.
					found[client] =
						status === 401 || status === 429 ? "refused" : status === 403 ? "forbidden" : "admitted";
					if (status === 403) assert.match(body.toString(), /may look, and change nothing/);
				}
				assert.deepEqual(found, expected, route);
			}
	});

	test("each WebSocket admits its own", async (t) => {
		const gateway = await run(t);
		const isAdmitted = (path: string, headers: Headers) =>
			new Promise((resolve) => {
				const socket = new WebSocket(`${gateway.url.replace("http", "ws")}${path}`, {
					headers: { ...headers },
				});
				socket
					.on("error", () => resolve(false))
					.on("open", () => {
						socket.terminate();
						resolve(true);
					});
			});
		for (const [client, headers] of Object.entries(await clientsOf(gateway))) {
			const isDevice = client === "device" || client === "own device";
			assert.equal(await isAdmitted("/device", headers), isDevice, `${client} at /device`);
			assert.equal(
				await isAdmitted("/monitor", headers),
				!isDevice && client !== "none",
				`${client} at /monitor`,
			);
		}
	});

	test("each message of monitors is refused to a viewer if it changes something", async (t) => {
		const gateway = await run(t);
		await gateway.namedDevice(await gateway.monitor());
		const clients = await clientsOf(gateway);
		const defined = [...Object.keys(monitorMessages), ...Object.keys(addedMessages)];
		assert.deepEqual(
			defined.filter((type) => !(type in messages)),
			[],
			"may a viewer send it? Name it in `messages`",
		);
		for (const client of ["viewer", "viewer's cookie", "monitor", "cookie"] as const)
			for (const type of defined) {
				const socket = await gateway.open("/monitor", { headers: clients[client] });
				const examples: Readonly<Record<string, object>> = monitorExamples;
				const example = examples[type] ?? addedMessages[type]?.example;
				const { code } = await socket.ask({ ...example, targetId: "dev-1-a1b2c3" });
				const isRefused = client.startsWith("viewer") && !messages[type];
				assert.equal(code === "forbidden", isRefused, `${type} of the ${client}: ${code}`);
			}
	});
});
