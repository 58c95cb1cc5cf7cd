import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { list, object, optional, string } from "../../../device/protocol/schema.js";
import { monitors } from "../../../gateway/api/permissions.js";
import { defineRoutes, json } from "../../../gateway/api/route.js";
import { Audit } from "../../../gateway/audit/audit.js";
import type { CreateExtension } from "../../../gateway/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { serve } from "../../../gateway/http/routes.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { nameTokens } from "../../support/logins.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { bearer, deviceToken, type RunningGateway, runGateway } from "../../support/running.js";

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

test("records changes without secrets, across a restart, but no rejections or reads", async (t) => {
	const options = { extensions: [...extensions, things] };
	const first = await runGateway(t, options);
	await nameTokens(first.dataDir, { name: "anna", role: "monitor", token: annasToken });
	await first.namedDevice(await first.monitor());
	const change = async (method: string, path: string, body?: object) =>
		(await first.api(method, path, body, annasToken)).status;
	const expected: unknown[] = [];
	const expectEntry = (what: string, after: object, deviceId: string | null = null, before?: object) =>
		expected.unshift({ who: "anna", address: "127.0.0.1", deviceId, what, after, ...(before && { before }) });
	const shownAt = async ({ api }: RunningGateway) => {
		const readAudit = async () => (await api("GET", "/api/audit")).body;
		const { changes } = await eventually(readAudit, ({ changes }) => changes.length >= expected.length);
		return changes.map(({ at: _, ...change }: Readonly<Record<string, unknown>>) => change);
	};

	assert.equal(await change("POST", "/api/tokens", { name: "ben", role: "user" }), 201);
	expectEntry("POST /api/tokens", { name: "ben", role: "user" });
	assert.equal(await change("POST", "/api/tokens", { name: "not/a name", role: "user" }), 422);
	assert.equal(await change("GET", "/api/tokens"), 200);
	const named = { "Device-Id": "dev-1-ffffff", "Device-Model": "DEV-1" };
	await first.device({ ...named, "Device-Features": "settings,sound" });
	const anna = await first.open("/monitor", { headers: bearer(annasToken) });
	const note = "hush-hush: the password of the hall";
	const url = "https://example.org/a.wav";
	const secretUrl = "https://anna:hush-hush@example.org/a.wav?key=hush-hush#x";
	const [ssid, ssid2, hidden] = ["Hall", "Attic", "…"];
	const passwords = { password: "a password of the hall", password2: "a password of the attic" };
	for (const [targetId, payload, shown] of [
		["dev-1-a1b2c3", { command: "set_volume", value: 40 }, { value: 40 }],
		["dev-1-a1b2c3", { command: "set_volume", value: 101 }, undefined],
		[
			"dev-1-ffffff",
			{ command: "play_sound", value: { id: "a", url: secretUrl } },
			{ value: { id: "a", url } },
		],
		[
			"dev-1-ffffff",
			{ command: "set_settings", value: { ssid, ssid2, ...passwords, token: deviceToken }, note },
			{ value: { ssid, ssid2, password: hidden, password2: hidden, token: hidden } },
		],
	] as const) {
		const { type } = await anna.request({ type: "control_device", targetId, payload, requestId: "7", note });
		assert.equal(type, shown ? "ack" : "error");
		const before = payload.command === "set_volume" ? { value: 50 } : undefined;
		if (shown) expectEntry(payload.command, shown, targetId, before);
	}
	const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
	const payload = `{"command":"query_state","x":${deep}}`;
	await anna.request(`{"type":"control_device","targetId":"dev-1-a1b2c3","payload":${payload}}`);
	expectEntry("query_state", {}, "dev-1-a1b2c3");
	for (const name of ["Terrace", "Patio"])
		assert.equal(await change("PATCH", "/api/devices/dev-1-a1b2c3", { name }), 200);
	expectEntry("PATCH /api/devices/:deviceId", { name: "Terrace" }, "dev-1-a1b2c3", {});
	expectEntry("PATCH /api/devices/:deviceId", { name: "Patio" }, "dev-1-a1b2c3", { name: "Terrace" });
	const items = [{ kind: "rejected", note }];
	assert.equal(await change("POST", "/api/things?days=30&note=hush", { items, note }), 204);
	expectEntry("POST /api/things", { days: "30", items: [{ kind: "rejected" }] });
	assert.equal(await change("DELETE", "/api/tokens/ben?note=hush", {}), 204);
	expectEntry("DELETE /api/tokens/:name", { name: "ben" });
	assert.deepEqual(await shownAt(first), expected);
	await first.gateway.close();
	assert.deepEqual(await shownAt(await runGateway(t, { ...options, dataDir: first.dataDir })), expected);
	const kept = await readFile(`${first.dataDir}/audit/changes.jsonl`, "utf8");
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
			onProblem: (problem) => problems.push(problem),
		});
	};
	const [a, b] = [create(), create()];
	const add = (audit: Audit, what: string) =>
		audit.add({
			person: { name: "anna", role: "monitor" },
			remoteAddress: "127.0.0.1",
			deviceId: undefined,
			what,
			after: { text: "\u{1f642}".repeat(1000), list: Array.from({ length: 21 }, () => 1) },
		});
	for (let index = 0; index < 20; index += 1) add(index % 2 ? a : b, `PUT /${index}`);
	await waitUntil(() => a.list().length === 20 && b.list().length === 20);
	const listed = (audit: Audit) => audit.list().map(({ what }) => what);
	assert.deepEqual(listed(a), listed(b));
	assert.equal(new Set(listed(a)).size, 20);
	const { text, list } = Object(a.list()[0]?.after);
	assert.match(text, /^\u{1f642}{299}…$/u);
	assert.deepEqual(list.slice(19), [1, "… 1 more"]);
	await b.close();
	for (let index = 20; index < 2600; index += 1) {
		add(a, `PUT /${index}`);
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
