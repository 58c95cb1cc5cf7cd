import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { labelFields } from "../../../gateway/api/label.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import {
	bearer,
	monitorToken,
	type RunningGateway,
	reportWithVolume,
	runGateway,
} from "../../support/running.js";

const id = "dev-1-a1b2c3";

async function ask({ url }: RunningGateway, method: string, path: string, body?: unknown) {
	const response = await fetch(`${url}/api/devices${path}`, {
		method,
		headers: bearer(monitorToken),
		...(body !== undefined && { body: JSON.stringify(body) }),
	});
	const text = await response.text();
	return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
}

describe("label", () => {
	test("is sent to every monitor, listed, and kept across a restart", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const gateway = await runGateway(t, { dataDir });
		const monitors = [await gateway.monitor(), await gateway.monitor()];
		const [monitor] = monitors;
		assert.ok(monitor, "no monitor");
		await gateway.namedDevice(monitor);
		const texts = { name: "Lobby \u{1f50a}", room: "Lobby", note: "behind the plant\nsince May" };
		const label = { ...texts, tags: ["beta", "shop-berlin"] };
		const { status, json } = await ask(gateway, "PATCH", `/${id}`, label);
		assert.deepEqual([status, json.name, json.deviceId], [200, label.name, id]);
		for (const each of monitors) {
			const { name, room, note, tags } = await each.change("labelled");
			assert.deepEqual({ name, room, note, tags }, label);
		}
		assert.deepEqual((await ask(gateway, "GET", "")).json.devices, [json]);
		await gateway.gateway.close();
		const again = await runGateway(t, { dataDir });
		const { name, room, note, tags } = (await ask(again, "GET", `/${id}`)).json;
		assert.deepEqual({ name, room, note, tags }, label);
	});

	test("is changed by field, removed by empty values, normalized, and limited", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const smile = "\u{1f642}";
		const many = Array.from({ length: 17 }, (_, index) => `tag-${index}`);
		const tags = ["0_", "a".repeat(32), "beta", "shop-berlin"];
		let kept: Readonly<Record<string, unknown>> = {};
		/** Expected change of the label; undefined: rejected. */
		for (const [change, expected] of [
			[
				{ name: "a", room: "b" },
				{ name: "a", room: "b" },
			],
			[{ note: "c" }, { note: "c" }],
			[
				{ name: "", room: "d" },
				{ name: undefined, room: "d" },
			],
			[
				{ name: "Hall \ud83d", room: "\u00a0Ku\u0308che\ufeff", note: "\u200b\u00ad " },
				{ name: "Hall \ufffd", room: "K\u00fcche", note: undefined },
			],
			...[{ name: smile.repeat(64), room: "x".repeat(64), note: "x".repeat(500) }].map((each) => [
				each,
				each,
			]),
			[{ tags: ["shop-berlin", "beta", "beta", "0_", "a".repeat(32)] }, { tags }],
			...[
				{ name: smile.repeat(65) },
				{ room: "x".repeat(65) },
				{ note: "x".repeat(501) },
				{ name: "a", nmae: "b" },
				{ name: null },
				{},
				[],
				...[many, ["Beta"], ["not"], [""], ["a b"], ["a".repeat(33)], [1], "beta"].map((each) => ({
					tags: each,
				})),
			].map((each) => [each, undefined]),
			[{ tags: null }, { tags: undefined }],
		] as const) {
			const { status } = await ask(gateway, "PATCH", `/${id}`, change);
			assert.equal(status, expected ? 200 : 422, JSON.stringify(change));
			kept = { ...kept, ...expected };
			const { json } = await ask(gateway, "GET", `/${id}`);
			const shown = Object.fromEntries(
				labelFields.flatMap((field) => (field in json ? [[field, json[field]]] : [])),
			);
			assert.deepEqual(shown, JSON.parse(JSON.stringify(kept)));
		}
	});

	test("returns 507 if it cannot be written, and is written later", async (t) => {
		const dataDir = await temporaryDirectory(t);
		let isFull = false;
		const open: typeof disk.open = async (path, flags, mode) => {
			if (isFull && flags === "wx") throw Object.assign(new Error("full"), { code: "ENOSPC" });
			return disk.open(path, flags, mode);
		};
		const gateway = await runGateway(t, { dataDir, disk: { ...disk, open } });
		const monitor = await gateway.monitor();
		await gateway.namedDevice(monitor);
		isFull = true;
		const refused = await ask(gateway, "PATCH", `/${id}`, { name: "Lobby" });
		assert.deepEqual([refused.status, /retried/.test(refused.json.detail)], [507, true]);
		assert.equal((await monitor.change("labelled")).name, "Lobby");
		isFull = false;
		await gateway.gateway.close();
		const content = await disk.readFile(join(dataDir, "labels", `${id}.json`), "utf8");
		assert.equal(JSON.parse(content).name, "Lobby");
	});
});

describe("DELETE /api/devices?awayDays", () => {
	test("forgets devices offline for longer, with their files, and never a connected one", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const day = 86_400_000;
		let now = Date.parse("2026-01-01T00:00:00Z");
		const gateway = await runGateway(t, { dataDir, now: () => now, limits: { snapshotDebounceMs: 10 } });
		const monitor = await gateway.monitor();
		const seen = async (deviceId: string) => {
			const device = await gateway.device({ "Device-Id": deviceId });
			device.send(reportWithVolume(1, deviceId));
			await monitor.change("identified");
			return device;
		};
		await seen("silent-but-connected");
		for (const deviceId of ["away-40", "away-31", "away-30"]) {
			(await seen(deviceId)).socket.close();
			await monitor.change("disconnected");
			now += deviceId === "away-40" ? 9 * day : day;
		}
		now += 29 * day;
		for (const days of [
			"",
			"?awayDays=0",
			"?awayDays=x",
			"?awayDays=1.5",
			"?awayDays=3651",
			"?awayDays=1&awayDays=2",
		])
			assert.equal((await ask(gateway, "DELETE", days)).status, 422, days);
		assert.deepEqual((await ask(gateway, "DELETE", "?awayDays=30")).json, { forgotten: 2, kept: 0, left: 0 });
		const left = ["away-30", "silent-but-connected"];
		const { sessions } = await monitor.until(({ reason }) => reason === "snapshot");
		assert.deepEqual(sessions.map(({ deviceId }) => deviceId).sort(), left);
		assert.deepEqual((await ask(gateway, "DELETE", "?awayDays=30")).json, { forgotten: 0, kept: 0, left: 0 });
		assert.deepEqual(
			(await disk.readdir(join(dataDir, "devices"))).sort(),
			left.map((each) => `${each}.json`),
		);
	});

	test("responds in time for many devices, with the number left for the next request", async (t) => {
		let now = 0;
		const gateway = await runGateway(t, { now: () => now, limits: { forgetMs: 0 } });
		const monitor = await gateway.monitor();
		for (let index = 0; index < 20; index += 1) {
			(await gateway.device({ "Device-Id": `away-${index}` })).socket.close();
			await monitor.change("disconnected");
		}
		now += 10 * 86_400_000;
		const forget = async () => (await ask(gateway, "DELETE", "?awayDays=9")).json;
		assert.deepEqual(await forget(), { forgotten: 16, kept: 0, left: 4 });
		assert.deepEqual(await forget(), { forgotten: 4, kept: 0, left: 0 });
	});

	test("keeps devices that cannot be removed from disk, and returns their number", async (t) => {
		const dataDir = await temporaryDirectory(t);
		let now = 0;
		const rm: typeof disk.rm = async (path, options) => {
			if (String(path).endsWith("stuck.json")) throw Object.assign(new Error("stuck"), { code: "EROFS" });
			await disk.rm(path, options);
		};
		const gateway = await runGateway(t, { dataDir, now: () => now, disk: { ...disk, rm } });
		const monitor = await gateway.monitor();
		for (const deviceId of ["stuck", "free"]) {
			(await gateway.device({ "Device-Id": deviceId })).socket.close();
			await monitor.change("disconnected");
		}
		now += 10 * 86_400_000;
		assert.deepEqual((await ask(gateway, "DELETE", "?awayDays=9")).json, { forgotten: 1, kept: 1, left: 0 });
		const { devices } = (await ask(gateway, "GET", "")).json;
		assert.deepEqual(
			devices.map(({ deviceId }: { deviceId: string }) => deviceId),
			["stuck"],
		);
	});
});
