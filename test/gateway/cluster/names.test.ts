import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { recordLog } from "../../support/recorded-log.js";
import { runClustered } from "./gateways.js";

test("tells monitors the names of gateways, and that their releases differ until they match", async (t) => {
	const server = new MemoryServer();
	const { lines, log } = recordLog();
	const a = await runClustered(t, server.connect(), { gatewayName: "hall", log });
	const releasesDir = join(await temporaryDirectory(t), "releases");
	await mkdir(releasesDir);
	const release = { version: "1.0.0", date: "2026-11-23", notes: "", images: [] };
	const catalog = JSON.stringify({ schema: 1, latest: "1.0.0", releases: [release] });
	await writeFile(join(releasesDir, "catalog.json"), catalog);
	const b = await runClustered(t, server.connect(), { releasesDir });
	const watches = [await a.watch("/monitor?cluster"), await b.watch("/monitor?cluster")];
	const names = [];
	for (const watch of watches)
		names.push((await watch.until(({ releasesDiffer }) => releasesDiffer === true)).gateway);
	assert.deepEqual(names, ["hall", b.name]);
	await rm(join(releasesDir, "catalog.json"));
	for (const watch of watches) await watch.until(({ releasesDiffer }) => releasesDiffer === false);
	await b.gateway.close();
	await watches[0]?.until(({ gateways }) => gateways === 1);
	const named = lines.flatMap(({ gateway, gateways }) => gateway ?? gateways ?? []);
	assert.deepEqual(named, [b.name, b.name, b.name]);
});
