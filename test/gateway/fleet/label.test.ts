import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { labelFields } from "../../../gateway/api/label.js";
import { failingDisk } from "../../support/disk.js";
import { type RunOptions, runGateway, runWatched } from "../../support/running.js";

const id = "dev-1-a1b2c3";
const path = `/api/devices/${id}`;
const dayMs = 86_400_000;

describe("label", () => {
	test("is sent to every monitor, listed, and kept across a restart", async (t) => {
		const { api, ...gateway } = await runGateway(t);
		const [monitor, other] = [await gateway.monitor(), await gateway.monitor()];
		await gateway.namedDevice(monitor);
		const texts = { name: "Lobby \u{1f50a}", room: "Lobby", note: "behind the plant\nsince May" };
		const label = { ...texts, tags: ["beta", "shop-berlin"] };
		const { status, body } = await api("PATCH", path, label);
		assert.deepEqual([status, body.name, body.deviceId], [200, label.name, id]);
		for (const client of [monitor, other]) {
			const { name, room, note, tags } = await client.change("labelled");
			assert.deepEqual({ name, room, note, tags }, label);
		}
		assert.deepEqual((await api("GET", "/api/devices")).body.devices, [body]);
		await gateway.gateway.close();
		const again = await runGateway(t, { dataDir: gateway.dataDir });
		const { name, room, note, tags } = (await again.api("GET", path)).body;
		assert.deepEqual({ name, room, note, tags }, label);
	});

	test("is changed by field, removed by empty values, normalized, and limited", async (t) => {
		const { api, ...gateway } = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const smile = "\u{1f642}";
		const many = Array.from({ length: 17 }, (_, index) => `tag-${index}`);
		const tags = ["0_", "a".repeat(32), "beta", "shop-berlin"];
		const longest = { name: smile.repeat(64), room: "x".repeat(64), note: "x".repeat(500) };
		const badTags = [many, ["Beta"], ["not"], [""], ["a b"], ["a".repeat(33)], [1], "beta"];
		let kept: Readonly<Record<string, unknown>> = {};
		/** Expected change of the label; undefined: rejected. */
		for (const [change, expected] of [
			...[{ name: "a", room: "b" }, { note: "c" }, longest].map((fields) => [fields, fields]),
			[
				{ name: "", room: "d" },
				{ name: undefined, room: "d" },
			],
			[
				{ name: "Hall \ud83d", room: "\u00a0Ku\u0308che\ufeff", note: "\u200b\u00ad " },
				{ name: "Hall \ufffd", room: "K\u00fcche", note: undefined },
			],
			[{ tags: ["shop-berlin", "beta", "beta", "0_", "a".repeat(32)] }, { tags }],
			...[{ name: smile.repeat(65) }, { room: "x".repeat(65) }, { note: "x".repeat(501) }].map((fields) => [
				fields,
			]),
			...[{ name: "a", nmae: "b" }, { name: null }, {}, [], ...badTags.map((tags) => ({ tags }))].map(
				(fields) => [fields],
			),
			[{ tags: null }, { tags: undefined }],
		] as const) {
			const { status } = await api("PATCH", path, change);
			assert.equal(status, expected ? 200 : 422, JSON.stringify(change));
			kept = { ...kept, ...expected };
			const { body } = await api("GET", path);
			const known = labelFields.filter((field) => field in body);
			const shown = Object.fromEntries(known.map((field) => [field, body[field]]));
			assert.deepEqual(shown, JSON.parse(JSON.stringify(kept)));
		}
	});

	test("returns 507 if it cannot be written, and is written later", async (t) => {
		const full = failingDisk("create", "ENOSPC");
		full.isFailing = false;
		const { api, ...gateway } = await runGateway(t, { disk: full.disk });
		const monitor = await gateway.monitor();
		await gateway.namedDevice(monitor);
		full.isFailing = true;
		const rejected = await api("PATCH", path, { name: "Lobby" });
		assert.deepEqual([rejected.status, /retried/.test(rejected.body.detail)], [507, true]);
		assert.equal((await monitor.change("labelled")).name, "Lobby");
		full.isFailing = false;
		await gateway.gateway.close();
		const content = await readFile(join(gateway.dataDir, "labels", `${id}.json`), "utf8");
		assert.equal(JSON.parse(content).name, "Lobby");
	});
});

describe("DELETE /api/devices?awayDays", () => {
	/** Gateway that has seen these devices, which are offline, at a time that the test advances. */
	async function seen(t: TestContext, ids: readonly string[], options: RunOptions = {}) {
		const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
		const { gateway, monitor } = await runWatched(t, { now: () => clock.now, ...options });
		const leave = async (deviceId: string) => {
			(await gateway.reporting(monitor, deviceId)).socket.close();
			await monitor.change("disconnected");
		};
		for (const deviceId of ids) await leave(deviceId);
		const forget = async (days: number) =>
			(await gateway.api("DELETE", `/api/devices?awayDays=${days}`)).body;
		return { ...gateway, clock, leave, forget, monitorClient: monitor };
	}

	test("forgets devices offline for longer, with their files, and never a connected one", async (t) => {
		const limits = { snapshotDebounceMs: 10 };
		const { api, clock, leave, forget, monitorClient, ...gateway } = await seen(t, ["away-40"], { limits });
		await gateway.reporting(monitorClient, "silent-but-connected");
		clock.now += 9 * dayMs;
		await leave("away-31");
		clock.now += dayMs;
		await leave("away-30");
		clock.now += 30 * dayMs;
		for (const days of ["", "?awayDays=0", "?awayDays=1.5", "?awayDays=3651", "?awayDays=1&awayDays=2"])
			assert.equal((await api("DELETE", `/api/devices${days}`)).status, 422, days);
		assert.deepEqual(await forget(30), { forgotten: 2, kept: 0, left: 0 });
		const left = ["away-30", "silent-but-connected"];
		const { sessions } = await monitorClient.until(({ reason }) => reason === "snapshot");
		assert.deepEqual(sessions.map(({ deviceId }) => deviceId).sort(), left);
		assert.deepEqual(await forget(30), { forgotten: 0, kept: 0, left: 0 });
		const files = await readdir(join(gateway.dataDir, "devices"));
		const expected = left.map((deviceId) => `${deviceId}.json`);
		assert.deepEqual(files.sort(), expected);
	});

	test("responds in time for many devices, with the number left for the next request", async (t) => {
		const ids = Array.from({ length: 20 }, (_, index) => `away-${index}`);
		const { clock, forget } = await seen(t, ids, { limits: { forgetMs: 0 } });
		clock.now += 10 * dayMs;
		assert.deepEqual(await forget(9), { forgotten: 16, kept: 0, left: 4 });
		assert.deepEqual(await forget(9), { forgotten: 4, kept: 0, left: 0 });
	});

	test("keeps devices that cannot be removed from disk, and returns their number", async (t) => {
		const { disk } = failingDisk("rm", "EROFS", "stuck.json");
		const { api, clock, forget } = await seen(t, ["stuck", "free"], { disk });
		clock.now += 10 * dayMs;
		assert.deepEqual(await forget(9), { forgotten: 1, kept: 1, left: 0 });
		const { devices } = (await api("GET", "/api/devices")).body;
		assert.deepEqual([devices.length, devices[0].deviceId], [1, "stuck"]);
	});
});
