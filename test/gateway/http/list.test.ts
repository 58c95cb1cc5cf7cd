import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import express from "express";
import { extensions } from "../../../gateway/extensions.js";
import { sendList } from "../../../gateway/http/list.js";
import { onEnd } from "../../support/cleanup.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";

const items = Array.from({ length: 2_000 }, (_, index) => ({ index, text: "x".repeat(1_000) }));
const bytes = JSON.stringify({ items }).length;

/** A server of one list. */
async function serve(t: TestContext) {
	const seen = { turns: 0, items: 0, ended: 0 };
	const textOf = (item: (typeof items)[number]) => {
		seen.items += 1;
		return item.index === 7 ? undefined : JSON.stringify(item);
	};
	const yieldToLoop = async () => {
		seen.turns += 1;
		await setImmediate();
	};
	const app = express().get("/", async (_request, response) => {
		await sendList(response, "items", items, textOf, yieldToLoop);
		seen.ended += 1;
	});
	const server = app.listen(0, "127.0.0.1");
	await once(server, "listening");
	onEnd(t, () => {
		server.closeAllConnections();
		server.close();
	});
	const address = server.address();
	return { seen, url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/` };
}

test("a long list is the JSON of its items, made in pieces of at most 64 KiB and an item in a turn of the event loop", async (t) => {
	const { seen, url } = await serve(t);
	const answer = await fetch(url);
	assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
	assert.deepEqual(await answer.json(), { items: items.filter(({ index }) => index !== 7) });
	assert.ok(seen.turns >= Math.floor(bytes / (65 * 1024)), `${seen.turns} turns`);
});

test("a long list that no one reads to its end is not made to its end", async (t) => {
	const { seen, url } = await serve(t);
	const abort = new AbortController();
	await fetch(url, { signal: abort.signal });
	abort.abort();
	while (seen.ended === 0) await setImmediate();
	assert.ok(seen.items < items.length, `${seen.items} items`);
});

test("a list of devices, and a command to a fleet that is away, leave turns of the event loop to others", async (t) => {
	let turns = 0;
	const counted = extensions.map((create) => (core: Parameters<typeof create>[0]) => {
		const yieldToLoop = () => {
			turns += 1;
			return core.yieldToLoop();
		};
		return create({ ...core, yieldToLoop });
	});
	const gateway = await runGateway(t, { extensions: counted });
	const note = "\u{1f50a}".repeat(500);
	const count = 100;
	const headers = bearer(monitorToken);
	for (let number = 0; number < count; number++) {
		const deviceId = `dev-1-${String(number).padStart(6, "0")}`;
		const device = await new ScriptedDevice({ url: gateway.url, deviceId }).connect();
		const body = JSON.stringify({ note });
		const named = await fetch(`${gateway.url}/api/devices/${deviceId}`, { method: "PATCH", headers, body });
		assert.equal(named.status, 200);
		device.close();
	}
	turns = 0;
	const text = await (await fetch(`${gateway.url}/api/devices`, { headers })).text();
	assert.equal(JSON.parse(text).devices.length, count);
	assert.ok(turns >= 2 && turns >= Math.floor(text.length / (70 * 1024)), `${turns} turns`);
	turns = 0;
	const body = JSON.stringify({ targets: { all: true }, payload: { command: "set_volume", value: 40 } });
	const begun = await fetch(`${gateway.url}/api/commands`, { method: "POST", headers, body });
	assert.equal(begun.status, 202);
	for (;;) {
		const answer = await fetch(`${gateway.url}${begun.headers.get("location")}`, { headers });
		if (JSON.parse(await answer.text()).endedAt !== null) break;
	}
	assert.ok(turns >= count, `${turns} turns`);
});
