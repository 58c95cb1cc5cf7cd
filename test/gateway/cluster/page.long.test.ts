import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { extensions } from "../../../gateway/extensions.js";
import { browsing } from "../../browser/browsing.js";
import { skip } from "../../support/chromium.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { runClustered, runGateways } from "./gateways.js";
import { memoryBuses } from "./memory-buses.js";

const open = browsing();
describe("clustered gateways", { skip }, () => {
	test("are counted; an isolated one reports it and shows the others' devices as disconnected", async (t) => {
		const buses = await memoryBuses();
		const [a, b] = await runGateways(t, buses, 2, { extensions });
		const device = await a.join("dev-1-aaaaaa");
		t.after(() => device.close());
		const page = await open(t, b.url);
		await page.getByText("Live · 2 gateways").waitFor();
		await page.getByText("1 of 1 connected").waitFor();
		await buses.cut(b.bus);
		await page.getByText(`Other gateways unreachable from ${b.name}.`).waitFor();
		await page.getByText("0 of 1 connected").waitFor();
		await buses.heal(b.bus);
		await page.getByText("Live · 2 gateways").waitFor();
		await page.getByText("1 of 1 connected").waitFor();
		assert.equal(await page.getByText("Other gateways unreachable").count(), 0);
	});

	test("are shown with differing releases", async (t) => {
		const releasesDir = await temporaryDirectory(t);
		const release = { version: "1.0.0", date: "2026-11-23", notes: "", images: [] };
		const catalog = { schema: 1, latest: "1.0.0", releases: [release] };
		const path = join(releasesDir, "catalog.json");
		await writeFile(path, JSON.stringify(catalog));
		const buses = await memoryBuses();
		const a = await runClustered(t, await buses.connect(), { extensions, releasesDir });
		await runClustered(t, await buses.connect());
		const page = await open(t, a.url);
		await page.getByText("Releases differ between gateways.").waitFor();
		await rm(path);
		await page.getByText("Releases differ between gateways.").waitFor({ state: "hidden" });
	});
});
