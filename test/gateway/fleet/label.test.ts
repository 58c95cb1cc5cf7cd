import assert from "node:assert/strict";
import disk from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { labelFields, labelTexts } from "../../../gateway/api/label.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
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

	test("is returned by PATCH with each field, and removed by empty values", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const texts = Object.fromEntries(labelTexts.map((field) => [field, `a ${field}`]));
		const all = { ...texts, tags: ["beta"] };
		const { json } = await ask(gateway, "PATCH", `/${id}`, all);
		assert.deepEqual(Object.fromEntries(labelFields.map((field) => [field, json[field]])), all);
		const none = { ...Object.fromEntries(labelTexts.map((field) => [field, ""])), tags: [] };
		const removed = (await ask(gateway, "PATCH", `/${id}`, none)).json;
		assert.deepEqual(
			labelFields.filter((field) => field in removed),
			[],
		);
	});

	test("is changed by field, and removed by empty text", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const patched = async (change: object) => {
			const { name, room, note } = (await ask(gateway, "PATCH", `/${id}`, change)).json;
			return [name, room, note];
		};
		assert.deepEqual(await patched({ name: "a", room: "b" }), ["a", "b", undefined]);
		assert.deepEqual(await patched({ note: "c" }), ["a", "b", "c"]);
		assert.deepEqual(await patched({ name: "", room: "d" }), [undefined, "d", "c"]);
	});

	test("is stored well-formed, normalized and trimmed; blank fields are removed", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const given = { name: "Living room \ud83d", room: "\u00a0Ku\u0308che\ufeff", note: "\u200b\u00ad " };
		const { name, room, note } = (await ask(gateway, "PATCH", `/${id}`, given)).json;
		assert.deepEqual(
			{ name, room, note },
			{ name: "Living room \ufffd", room: "K\u00fcche", note: undefined },
		);
	});

	test("is normalized when loaded from disk", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		await first.namedDevice(await first.monitor());
		await ask(first, "PATCH", `/${id}`, { name: "a" });
		await first.gateway.close();
		const kept = { name: "Living room \ud83d", room: "Ku\u0308che ", note: "\u200b" };
		await disk.writeFile(join(dataDir, "labels", `${id}.json`), JSON.stringify(kept));
		const file = join(dataDir, "devices", `${id}.json`);
		const device = JSON.parse(await disk.readFile(file, "utf8"));
		const report = device.report.replace(/"wifi_ssid":"[^"]*"/, '"wifi_ssid":"\\ud83d"');
		await disk.writeFile(file, JSON.stringify({ ...device, report }));
		const again = await runGateway(t, { dataDir });
		const { name, room, note, state } = (await ask(again, "GET", `/${id}`)).json;
		assert.deepEqual(
			{ name, room, note },
			{ name: "Living room \ufffd", room: "K\u00fcche", note: undefined },
		);
		assert.equal(state.network.wifi_ssid, "\ufffd");
	});

	test("is limited in length, and rejected with an unknown field", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const statusOf = async (change: unknown) => (await ask(gateway, "PATCH", `/${id}`, change)).status;
		const smile = "\u{1f642}";
		assert.equal(
			await statusOf({ name: smile.repeat(64), room: "x".repeat(64), note: "x".repeat(500) }),
			200,
		);
		for (const change of [
			{ name: smile.repeat(65) },
			{ room: "x".repeat(65) },
			{ note: "x".repeat(501) },
			{ name: "a", nmae: "b" },
			{ name: null },
			{},
			[],
		])
			assert.equal(await statusOf(change), 422, JSON.stringify(change));
		assert.equal((await ask(gateway, "GET", `/${id}`)).json.name, smile.repeat(64));
	});

	test("has at most 16 unique sorted tags of 1 to 32 characters, removed by null", async (t) => {
		const gateway = await runGateway(t);
		await gateway.namedDevice(await gateway.monitor());
		const set = (tags: unknown) => ask(gateway, "PATCH", `/${id}`, { tags });
		const given = ["shop-berlin", "beta", "beta", "0_", "a".repeat(32)];
		const kept = ["0_", "a".repeat(32), "beta", "shop-berlin"];
		assert.deepEqual((await set(given)).json.tags, kept);
		const many = Array.from({ length: 17 }, (_, index) => `tag-${index}`);
		for (const tags of [
			many,
			["Beta"],
			["not"],
			[""],
			["a b"],
			["a".repeat(33)],
			[1],
			"beta",
			{ beta: true },
		]) {
			const { status, json } = await set(tags);
			assert.deepEqual([status, /^tags(\.0)? must be .*\.$/.test(json.detail)], [422, true], json.detail);
		}
		assert.deepEqual((await ask(gateway, "GET", `/${id}`)).json.tags, kept);
		assert.equal((await ask(gateway, "PATCH", `/${id}`, { room: "Hall" })).json.tags.length, kept.length);
		const { json } = await set(null);
		assert.deepEqual([json.room, "tags" in json], ["Hall", false]);
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

	test("is stored later after changes on a read-only disk", async (t) => {
		const dataDir = await temporaryDirectory(t);
		let isReadOnly = false;
		const refuse = () => Promise.reject(Object.assign(new Error("read-only"), { code: "EROFS" }));
		const open: typeof disk.open = (path, flags, mode) =>
			isReadOnly && flags === "wx" ? refuse() : disk.open(path, flags, mode);
		const rm: typeof disk.rm = (...words) => (isReadOnly ? refuse() : disk.rm(...words));
		const gateway = await runGateway(t, { dataDir, disk: { ...disk, open, rm } });
		const monitor = await gateway.monitor();
		const ids = ["dev-1-000001", "dev-1-000002", "dev-1-000003"];
		for (const deviceId of ids) {
			(await gateway.device({ "Device-Id": deviceId })).send(reportWithVolume(1, deviceId));
			await monitor.change("identified");
			assert.equal((await ask(gateway, "PATCH", `/${deviceId}`, { name: "Before" })).status, 200);
		}
		const [removed = "", given = "", after = ""] = ids;
		isReadOnly = true;
		assert.equal((await ask(gateway, "PATCH", `/${removed}`, { name: "" })).status, 507);
		assert.equal((await ask(gateway, "PATCH", `/${given}`, { name: "During" })).status, 507);
		isReadOnly = false;
		assert.equal((await ask(gateway, "PATCH", `/${after}`, { name: "After" })).status, 200);
		const stored = async () => {
			const texts = ids.map((deviceId) => disk.readFile(join(dataDir, "labels", `${deviceId}.json`), "utf8"));
			return (await Promise.all(texts)).map((text) => JSON.parse(text).name);
		};
		await waitUntil(async () => String(await stored()) === ",During,After");
		await waitUntil(async () => (await fetch(`${gateway.url}/readyz`)).status === 200);
		await gateway.gateway.close();
		const again = await runGateway(t, { dataDir });
		const { devices }: { readonly devices: readonly { readonly name?: string }[] } = (
			await ask(again, "GET", "")
		).json;
		assert.deepEqual(devices.map(({ name = "" }) => name).sort(), ["", "After", "During"]);
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
