/** Access tests of every route and frame with every kind of token. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import { commands } from "../../../device/protocol/messages.js";
import { keysOf } from "../../../device/protocol/schema.js";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import { tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { commandEntries } from "../../../gateway/api/commands.js";
import type { PersonRole } from "../../../gateway/api/person.js";
import { routeTables } from "../../../gateway/api/routes.js";
import { addedMessages } from "../../../gateway/extensions.js";
import { monitorMessages } from "../../../gateway/sockets/monitor-commands.js";
import { monitorExamples } from "../../../scripts/api/examples.js";
import { logIn } from "../../support/logins.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunningGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { examplePath } from "../api/probes.js";
import { ask } from "../api/server.js";
import { runWholeGateway } from "../api/whole-gateway.js";

const named = [
	{ name: "lobby-screen", role: "viewer", token: "viewer-token-of-the-fixtures" },
	{ name: "ben", role: "user", token: "a-users-token-of-the-fixtures" },
	{ name: "anna", role: "monitor", token: "another-monitor-of-the-fixtures" },
] as const;
/** @param lines a method, followed by paths */
const routes = (...lines: readonly string[]) =>
	lines.flatMap((line) => {
		const [method, ...paths] = line.split(" ");
		return paths.map((path) => `${method} ${path}`);
	});
/** Routes without a token. */
const open = routes("GET /healthz /readyz /login", "POST /login /logout");
/** Routes that accept a device token. */
const ofDevices = routes("GET /sounds/:file /ota/status /ota/catalog /ota/firmware.bin /releases/:path");

/** Routes of people with few permissions. Listed here, as a mistake in the tables of the gateway must fail. */
const read = routes(
	"GET /ota/status /ota/catalog /ota/history /login/state",
	"GET /api/devices /api/devices/:deviceId /api/devices/:deviceId/history /api/rejections /api/crashes",
	"GET /api/sounds /api/sounds/:id /sounds/:file /api/schedules /api/quiet-hours",
	"GET /api/announcements /api/announcements/:id /api/commands /api/commands/:id",
	"GET /api/rollouts /api/rollouts/:id /api/rollouts/:id/devices",
	"POST /login/link",
);
/** Routes and commands of each role; `monitor` has all. */
const permitted: Readonly<Record<Exclude<PersonRole, "monitor">, readonly string[]>> = {
	viewer: [
		...read,
		...routes(
			"GET /metrics /ota/firmware.bin /releases/:path",
			"GET /api/wifi /api/device-setup /api/audit /api/webhooks",
			"POST /api/rollouts/preview",
		),
	],
	user: [
		...read,
		...routes(
			"POST /api/sounds /api/speech /api/announcements /api/commands /api/schedules",
			"PUT /api/schedules/:id",
			"DELETE /api/sounds/:id /api/announcements/:id /api/commands/:id /api/schedules/:id",
		),
		// Controls of the device.
		...keysOf(commandEntries).filter((name) => commandEntries[name].reported),
		...["set_light", "play_audio", "play_sound", "start_sound", "stop_sound", "identify", "query_state"],
	],
};

function isPermitted(role: PersonRole, routeOrCommand: string): boolean {
	return role === "monitor" || permitted[role].includes(routeOrCommand);
}

type Headers = Readonly<Record<string, string>>;

async function run(t: TestContext): Promise<RunningGateway> {
	const dataDir = await temporaryDirectory(t);
	await writeTokenFile(fs, tokenPath(dataDir), { device: deviceToken, monitor: monitorToken, named });
	return runWholeGateway(t, { dataDir, deviceToken: undefined, monitorToken: undefined });
}

/** Headers of each person, by token and by cookie. */
async function peopleOf({ url }: RunningGateway) {
	const all = [{ name: "monitor", role: "monitor", token: monitorToken } as const, ...named];
	const people = all.map(async ({ name, role, token }) => [
		{ name, role, headers: bearer(token) },
		{ name: `cookie of ${name}`, role, headers: await logIn(url, token) },
	]);
	return (await Promise.all(people)).flat();
}

const others: Readonly<Record<string, Headers>> = {
	none: {},
	device: bearer(deviceToken),
	"own device": bearer(deviceTokenOf(deviceToken, "dev-1-a1b2c3")),
};

const rejections: Readonly<Record<PersonRole, RegExp>> = {
	viewer: /this token may look, and change nothing. Use a token with the role monitor/i,
	user: /this token may play, [a-z, ]+, and nothing else. Use a token with the role monitor/i,
	monitor: /^$/,
};

describe("access without a token, with device tokens, and with tokens and cookies of each role", () => {
	test("is granted at each route to its roles", async (t) => {
		const gateway = await run(t);
		const people = await peopleOf(gateway);
		const known: readonly string[] = routeTables.flatMap(({ routes }) => Object.keys(routes));
		const listed = Object.values(permitted).flat();
		const unknown = listed.filter((name) => name.includes(" ") && !known.includes(name));
		assert.deepEqual(unknown, [], "unknown routes");
		for (const { extension, routes: table } of routeTables) {
			if (extension !== null && !existsSync(`gateway/${extension}`)) continue;
			for (const [route, { roles, devices = false }] of Object.entries(table)) {
				assert.equal(roles === null, open.includes(route), `${route}: access without a token`);
				assert.equal(devices, ofDevices.includes(route), `${route}: access with a device token`);
				if (roles === null) continue;
				const [method = "", path = ""] = route.replaceAll(/:(\w+)/g, "{$1}").split(" ");
				const found: Record<string, string> = {};
				const expected: Record<string, string> = {};
				for (const [client, headers] of Object.entries(others)) {
					expected[client] = client !== "none" && devices ? "admitted" : "rejected";
					found[client] = (await answer(gateway, method, path, headers)).admission;
				}
				for (const { name: client, role, headers } of people) {
					const { admission, text } = await answer(gateway, method, path, headers);
					expected[client] = isPermitted(role, route) ? "admitted" : "forbidden";
					found[client] = admission;
					if (admission === "forbidden") assert.match(text, rejections[role]);
				}
				assert.deepEqual(found, expected, `edit the roles of ${route} in gateway/api/ or in this test`);
			}
		}
	});

	test("is granted at each WebSocket to its clients", async (t) => {
		const gateway = await run(t);
		const isAdmitted = (path: string, headers: Headers) =>
			gateway.open(path, { headers: { ...headers } }).then(
				() => true,
				() => false,
			);
		for (const [client, headers] of Object.entries(others)) {
			assert.equal(await isAdmitted("/device", headers), client !== "none", `${client} at /device`);
			assert.equal(await isAdmitted("/monitor", headers), false, `${client} at /monitor`);
		}
		for (const { name, headers } of await peopleOf(gateway)) {
			assert.equal(await isAdmitted("/device", headers), false, `${name} at /device`);
			assert.equal(await isAdmitted("/monitor", headers), true, `${name} at /monitor`);
		}
	});

	test("is denied for monitor messages and commands that the role does not permit", async (t) => {
		const gateway = await run(t);
		await gateway.namedDevice(await gateway.monitor());
		const targetId = "dev-1-a1b2c3";
		const examples: Readonly<Record<string, object>> = monitorExamples;
		const actions = [
			...Object.keys(monitorMessages)
				.filter((type) => type !== "control_device")
				.map((type) => ({ action: type, message: { ...examples[type], type, targetId } })),
			// Most are invalid without parameters, an error reported only to permitted senders.
			...[...Object.keys(commands), "unknown"].map((command) => ({
				action: command,
				message: { type: "control_device", targetId, payload: { command } },
			})),
		];
		for (const { name, role, headers } of await peopleOf(gateway)) {
			const socket = await gateway.open("/monitor", { headers });
			for (const { action, message } of actions) {
				const { code, message: why } = await socket.request(message);
				const advice = `edit the roles of ${action} in gateway/api/commands.ts, or in this test`;
				assert.equal(code === "forbidden", !isPermitted(role, action), advice);
				if (code === "forbidden") assert.match(String(why), rejections[role]);
			}
			for (const [type, { example }] of Object.entries(addedMessages)) {
				const { code } = await socket.request({ ...example, targetId });
				assert.notEqual(code, "forbidden", `${type} of the ${name}`);
			}
		}
	});
});

async function answer({ url }: RunningGateway, method: string, path: string, headers: Headers) {
	const { status, body } = await ask(url, method, { path: examplePath(path), headers });
	// Ten invalid tokens cause 429.
	const admission = status === 401 || status === 429 ? "rejected" : status === 403 ? "forbidden" : "admitted";
	return { admission, text: body.toString() };
}
