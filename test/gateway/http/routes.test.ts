import assert from "node:assert/strict";
import { test } from "node:test";
import { boolean, integer, object, optional, string } from "../../../device/protocol/schema.js";
import type { Change } from "../../../gateway/access/access.js";
import { monitors } from "../../../gateway/api/permissions.js";
import { defineRoutes, json } from "../../../gateway/api/route.js";
import { anyRecord } from "../../../gateway/api/shapes.js";
import { Events } from "../../../gateway/events.js";
import { serve } from "../../../gateway/http/routes.js";
import { RequestError } from "../../../gateway/problem.js";
import { waitUntil } from "../../support/eventually.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";

const all = { summary: "Things", roles: monitors, returns: "Things." };
const table = defineRoutes(null, {
	"GET /api/things": {
		...all,
		query: { count: integer(1, 9), isNew: optional(boolean()), word: optional(string(4)) },
		reply: anyRecord,
	},
	"POST /api/things": {
		...all,
		body: json(object({ word: string(4) }), {}),
		status: 201,
		reply: anyRecord,
		location: "/api/things/:id",
	},
	"PUT /api/things": { ...all, status: 202 },
	"DELETE /api/things/:id": { ...all, query: { days: integer(1, 9) } },
	"GET /api/audited": { ...all, isAudited: true, reply: anyRecord },
});
const things = () => ({
	routes: serve(table, {
		"GET /api/things": ({ query, response }) => {
			response.set("Cache-Control", "max-age=1");
			return query;
		},
		"POST /api/things": ({ body }) => ({ id: body.word }),
		"PUT /api/things": () => {},
		"DELETE /api/things/:id": ({ query: { days } }) => {
			if (days === 9) throw new RequestError(409, "Things are in use.");
		},
		"GET /api/audited": () => ({}),
	}),
});

test("validates the query and the body of a route, and responds as defined", async (t) => {
	const { api } = await runGateway(t, { extensions: [things] });
	const read = await api("GET", "/api/things?count=7&isNew=true&word=new&other=1");
	assert.deepEqual(read.body, { count: 7, isNew: true, word: "new" });
	assert.equal(read.headers.get("cache-control"), "max-age=1");
	for (const [query, problem] of [
		["", "count is missing"],
		["count=", "count must be"],
		["count=1&isNew=yes", "isNew must be"],
		["count=1&word=overlong", "word must be"],
	] as const) {
		const { status, body } = await api("GET", `/api/things?${query}`);
		assert.equal(status, 422);
		assert.ok(body.detail.startsWith(`The query field ${problem}`), body.detail);
	}
	const created = await api("POST", "/api/things", { word: "a", other: 1 });
	assert.deepEqual([created.status, created.body], [201, { id: "a" }]);
	assert.equal(created.headers.get("location"), "/api/things/a");
	assert.equal(created.headers.get("cache-control"), "no-store");
	assert.equal((await api("PUT", "/api/things")).status, 202);
	assert.equal((await api("DELETE", "/api/things/a?days=1")).status, 204);
	const other = await api("PATCH", "/api/things");
	assert.deepEqual([other.status, other.headers.get("allow")], [405, "GET, HEAD, POST, PUT"]);
});

test("reports the changes that a person made, with the fields of path, query and body", async (t) => {
	const changes: Pick<Change, "what" | "after">[] = [];
	const events = new Events();
	events.on({ changed: ({ what, after }) => changes.push({ what, after }) });
	const { api, url } = await runGateway(t, { extensions: [things], events });
	await api("GET", "/api/things?count=1");
	await fetch(`${url}/api/audited`, { method: "HEAD", headers: bearer(monitorToken) });
	await api("DELETE", "/api/things/rejected?days=9");
	await api("POST", "/api/things", { word: "a", secret: "b" });
	await api("DELETE", "/api/things/a?days=7&other=1");
	await api("GET", "/api/audited");
	await waitUntil(() => changes.length >= 3);
	assert.deepEqual(changes, [
		{ what: "POST /api/things", after: { word: "a" } },
		{ what: "DELETE /api/things/:id", after: { id: "a", days: 7 } },
		{ what: "GET /api/audited", after: {} },
	]);
});
