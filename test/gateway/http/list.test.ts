import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import express from "express";
import { sendList } from "../../../gateway/http/list.js";
import { waitUntil } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";

const items = Array.from({ length: 2_000 }, (_, index) => ({ index, text: "x".repeat(1_000) }));
const bytes = JSON.stringify({ items }).length;

/** Server of one list. */
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
	return { seen, url: `http://127.0.0.1:${await listen(t, createServer(app))}/` };
}

test("serializes a long list in chunks of at most 64 KiB and one item per turn", async (t) => {
	const { seen, url } = await serve(t);
	const answer = await fetch(url);
	assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
	assert.deepEqual(await answer.json(), { items: items.filter(({ index }) => index !== 7) });
	assert.ok(seen.turns >= Math.floor(bytes / (65 * 1024)), `${seen.turns} turns`);
});

test("stops serializing a list that is not read to its end", async (t) => {
	const { seen, url } = await serve(t);
	const abort = new AbortController();
	await fetch(url, { signal: abort.signal });
	abort.abort();
	await waitUntil(() => seen.ended !== 0);
	assert.ok(seen.items < items.length, `${seen.items} items`);
});
