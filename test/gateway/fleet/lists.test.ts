import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { writeCatalog } from "../../support/releases.js";
import { bearer, type Frame, monitorToken, runGateway } from "../../support/running.js";

const headers = bearer(monitorToken);
const limits = { listPauseMs: 10 };

test("notifies subscribed monitors of changed lists, and detects a new catalog", async (t) => {
	const releasesDir = join(await temporaryDirectory(t), "releases");
	const { open, refused, url } = await runGateway(t, { limits, releasesDir });
	const watcher = await open("/monitor?summary&lists", { headers });
	const next = () => watcher.until(({ type }) => type === "list_update");
	await refused("/device", { "Device-Id": "dev-1-a1b2c3" });
	assert.deepEqual(await next(), { type: "list_update", list: "refusals" });
	const { refusals } = JSON.parse(await (await fetch(`${url}/api/refusals`, { headers })).text());
	const items = [{ kind: "refused", id: refusals[0].id, since: refusals[0].lastAt }];
	const body = JSON.stringify({ items });
	const asJson = { ...headers, "Content-Type": "application/json" };
	await fetch(`${url}/api/attention/seen`, { method: "POST", headers: asJson, body });
	assert.deepEqual(await next(), { type: "list_update", list: "refusals" });
	await writeCatalog(releasesDir, { schema: 1, latest: null, releases: [] });
	assert.deepEqual(await next(), { type: "list_update", list: "firmware" });
});

test("notifies of update steps, but not of progress", async (t) => {
	const { open, refused, namedDevice, monitor } = await runGateway(t, { limits });
	const { device } = await namedDevice(await monitor());
	const watcher = await open("/monitor?lists", { headers });
	const lists: unknown[] = [];
	const until = (predicate: (frame: Frame) => boolean) =>
		watcher.until((frame) => {
			if (frame.type === "list_update") lists.push(frame);
			return predicate(frame);
		});
	const report = (percent: number) => {
		device.send({ type: "ota_progress", percent, bytes_written: percent, bytes_total: 100 });
		return until((frame) => JSON.stringify(frame).includes(`"otaPercent":${percent},`));
	};
	await report(1);
	if (lists.length === 0) await until(({ type }) => type === "list_update");
	await report(2);
	await report(3);
	await refused("/device", { "Device-Id": "dev-1-a1b2c3" });
	await until(() => lists.length > 1);
	assert.deepEqual(lists, [
		{ type: "list_update", list: "firmware" },
		{ type: "list_update", list: "refusals" },
	]);
});
