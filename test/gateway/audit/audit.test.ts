import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { test } from "node:test";
import { list, object, optional, string } from "../../../device/protocol/schema.js";
import { tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { monitors } from "../../../gateway/api/permissions.js";
import { defineRoutes, json } from "../../../gateway/api/route.js";
import { Audit } from "../../../gateway/audit/audit.js";
import type { CreateExtension } from "../../../gateway/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { serve } from "../../../gateway/http/routes.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

/** Route that reads a query field and a body. */
const things: CreateExtension = () => ({
	routes: serve(
		defineRoutes(null, {
			"POST /api/things": {
				summary: "Creates things",
				roles: monitors,
				query: { days: optional(string(8)) },
				body: json(object({ items: list(object({ kind: string(64) }), 10) }), {}),
				returns: "They are created.",
			},
		}),
		{ "POST /api/things": () => {} },
	),
});

const annasToken = "annas-token-of-the-fixtures";

async function changesAt(url: string, count: number) {
	const read = async () => {
		const response = await fetch(`${url}/api/audit`, { headers: bearer(monitorToken) });
		return JSON.parse(await response.text()).changes;
	};
	return eventually(read, ({ length }) => length >= count);
}

test("records changes without secrets, across a restart, but no rejections or reads", async (t) => {
	const dataDir = await temporaryDirectory(t);
	const named = [{ name: "anna", role: "monitor", token: annasToken } as const];
	await writeTokenFile(fs, tokenPath(dataDir), { device: deviceToken, monitor: monitorToken, named });
	const given = { deviceToken: undefined, monitorToken: undefined };
	const options = { dataDir, ...given, extensions: [...extensions, things] };
	const first = await runGateway(t, options);
	const { device } = await first.namedDevice(await first.monitor());
	const change = (method: string, to: string, body: object) =>
		fetch(`${first.url}${to}`, { method, headers: bearer(annasToken), body: JSON.stringify(body) });
	assert.equal((await change("POST", "/api/tokens", { name: "ben", role: "user" })).status, 201);
	assert.equal((await change("POST", "/api/tokens", { name: "not/a name", role: "user" })).status, 422);
	assert.equal((await fetch(`${first.url}/api/tokens`, { headers: bearer(annasToken) })).status, 200);
	const anna = await first.open("/monitor", { headers: bearer(annasToken) });
	const targetId = "dev-1-a1b2c3";
	const volume = { command: "set_volume", value: 40 };
	assert.equal(
		(await anna.request({ type: "control_device", targetId, payload: volume, requestId: "7" })).type,
		"ack",
	);
	await anna.request({ type: "control_device", targetId, payload: { command: "set_volume", value: 101 } });
	const settled = await first.device({
		"Device-Id": "dev-1-ffffff",
		"Device-Model": "DEV-1",
		"Device-Features": "settings,sound",
	});
	const withPassword = {
		command: "play_sound",
		value: { id: "a", url: "https://anna:hush-hush@example.org/a.wav?key=hush-hush#x" },
	};
	await anna.request({ type: "control_device", targetId: "dev-1-ffffff", payload: withPassword });
	const hall = { ssid: "Hall", password: "a password of the hall" };
	const value = { ...hall, ssid2: "Attic", password2: "a password of the attic", token: deviceToken };
	const note = "hush-hush: the password of the hall";
	const settings = { command: "set_settings", value, note };
	const answer = await anna.request({
		type: "control_device",
		targetId: "dev-1-ffffff",
		payload: settings,
		note,
	});
	assert.equal(answer.type, "ack", JSON.stringify(answer));
	const expected = [
		[
			"anna",
			"127.0.0.1",
			"dev-1-ffffff",
			"control_device",
			'{"payload":{"command":"set_settings","value":{"ssid":"Hall","password":"…","ssid2":"Attic","password2":"…","token":"…"}}}',
		],
		[
			"anna",
			"127.0.0.1",
			"dev-1-ffffff",
			"control_device",
			'{"payload":{"command":"play_sound","value":{"id":"a","url":"https://example.org/a.wav"}}}',
		],
		[
			"anna",
			"127.0.0.1",
			"dev-1-a1b2c3",
			"control_device",
			'{"payload":{"command":"set_volume","value":40}}',
		],
		["anna", "127.0.0.1", null, "POST /api/tokens", '{"name":"ben","role":"user"}'],
	];
	const shown = (
		changes: { who: string; address: string; deviceId: string; what: string; detail: string }[],
	) => changes.map(({ who, address, deviceId, what, detail }) => [who, address, deviceId, what, detail]);
	assert.deepEqual(shown(await changesAt(first.url, 4)), expected);
	const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
	await anna.request(
		`{"type":"control_device","targetId":"${targetId}","payload":{"command":"query_state","x":${deep}}}`,
	);
	expected.unshift([
		...["anna", "127.0.0.1", "dev-1-a1b2c3", "control_device"],
		'{"payload":{"command":"query_state"}}',
	]);
	const items = [{ kind: "refused", note }];
	assert.equal((await change("POST", "/api/things?days=30&note=hush", { items, note })).status, 204);
	expected.unshift([
		...["anna", "127.0.0.1", null, "POST /api/things?days=30"],
		'{"items":[{"kind":"refused"}]}',
	]);
	assert.equal((await change("DELETE", "/api/tokens/ben?note=hush", {})).status, 204);
	expected.unshift(["anna", "127.0.0.1", null, "DELETE /api/tokens/ben", null]);
	assert.deepEqual(shown(await changesAt(first.url, 7)), expected);
	for (const { socket } of [device, settled]) socket.terminate();
	await first.gateway.close();
	const second = await runGateway(t, options);
	assert.deepEqual(shown(await changesAt(second.url, 4)), expected);
	const kept = await fs.readFile(`${dataDir}/audit/changes.jsonl`, "utf8");
	for (const secret of [annasToken, deviceToken, "a password", "hush"])
		assert.ok(!kept.includes(secret), `the audit log contains ${secret}`);
});

test("shares the audit log in a cluster, and keeps the latest 2,000 entries", async () => {
	const server = new MemoryServer();
	const problems: string[] = [];
	const create = () => {
		const bus = server.connect();
		return new Audit({
			openLog: () => bus.log("gw-audit"),
			now: () => 1,
			onProblem: (each) => problems.push(each),
		});
	};
	const [a, b] = [create(), create()];
	const add = (audit: Audit, what: string) =>
		audit.add({
			person: { name: "anna", role: "monitor" },
			remoteAddress: "127.0.0.1",
			deviceId: undefined,
			what,
			body: { text: "\u{1f642}".repeat(1000) },
		});
	for (let index = 0; index < 20; index += 1) add(index % 2 ? a : b, `PUT /${index}`);
	await waitUntil(() => !(a.list().length < 20 || b.list().length < 20));
	assert.deepEqual(
		a.list().map(({ what }) => what),
		b.list().map(({ what }) => what),
	);
	assert.equal(new Set(a.list().map(({ what }) => what)).size, 20);
	assert.match(a.list()[0]?.detail ?? "", /^\{"text":"\u{1f642}{290}…$/u);
	await b.close();
	for (let index = 20; index < 2600; index += 1) {
		add(a, `PUT /${index}`);
		if (index % 500 === 0) await waitUntil(() => a.list()[0]?.what === `PUT /${index}`);
		if (index % 500 === 0) await a.settled();
	}
	await a.settled();
	assert.equal(a.list().length, 2000);
	const late = create();
	late.write();
	await late.settled();
	assert.ok(late.list().length <= 2500, `${late.list().length}`);
	assert.equal(late.list()[0]?.what, "PUT /2599");
	await a.close();
	await late.close();
	assert.deepEqual(problems, []);
});
