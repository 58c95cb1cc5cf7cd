import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { type Clustered, runClustered, type Told } from "./gateways.js";

/** Waits for the next `cluster_update` with a state of the releases. */
async function until(gateway: Clustered, releasesDiffer: boolean) {
	const watch = await gateway.watch("/monitor?cluster");
	await watch.until(
		(frame: Told) => frame.type === "cluster_update" && frame.releasesDiffer === releasesDiffer,
	);
	watch.client.socket.terminate();
}

test("reports differing releases to monitors until they match", async (t) => {
	const folder = await temporaryDirectory(t);
	const folders = [join(folder, "a"), join(folder, "b")];
	for (const each of folders) await mkdir(each);
	const server = new MemoryServer();
	const gateways: Clustered[] = [];
	for (const releasesDir of folders) gateways.push(await runClustered(t, server.connect(), { releasesDir }));
	for (const gateway of gateways) await until(gateway, false);
	const release = { version: "1.0.0", date: "2026-11-23", notes: "", images: [] };
	const catalog = join(folders[1] ?? "", "catalog.json");
	await writeFile(catalog, JSON.stringify({ schema: 1, latest: "1.0.0", releases: [release] }));
	for (const gateway of gateways) await until(gateway, true);
	await rm(catalog);
	for (const gateway of gateways) await until(gateway, false);
	assert.equal(gateways.length, 2);
});
