import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../support/cleanup.js";
import { writeCatalog } from "../../support/releases.js";
import { type Frame, runGateway } from "../../support/running.js";

const limits = { listPauseMs: 10 };

test("notifies subscribed monitors of changed lists, and detects a new catalog", async (t) => {
	const releasesDir = join(await temporaryDirectory(t), "releases");
	const { subscribe, rejected, api } = await runGateway(t, { limits, releasesDir });
	const watcher = await subscribe("summary&lists");
	const next = () => watcher.until(({ type }) => type === "list_update");
	await rejected("/device", { "Device-Id": "dev-1-a1b2c3" });
	assert.deepEqual(await next(), { type: "list_update", list: "rejections" });
	const [{ id, lastAt }] = (await api("GET", "/api/rejections")).body.rejections;
	await api("POST", "/api/issues/seen", { items: [{ kind: "rejected", id, since: lastAt }] });
	assert.deepEqual(await next(), { type: "list_update", list: "rejections" });
	await writeCatalog(releasesDir, { schema: 1, latest: null, releases: [] });
	assert.deepEqual(await next(), { type: "list_update", list: "firmware" });
});

test("notifies of update steps, but not of progress", async (t) => {
	const { subscribe, rejected, namedDevice, monitor } = await runGateway(t, { limits });
	const { device } = await namedDevice(await monitor());
	const watcher = await subscribe("lists");
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
	await rejected("/device", { "Device-Id": "dev-1-a1b2c3" });
	await until(() => lists.length > 1);
	const expected = ["firmware", "rejections"].map((list) => ({ type: "list_update", list }));
	assert.deepEqual(lists, expected);
});
