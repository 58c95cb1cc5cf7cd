import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { ListedRejection } from "../../../gateway/api/device.js";
import { createCommands } from "../../../gateway/commands/extension.js";
import { createFleet } from "../../../gateway/fleet/extension.js";
import { createReplacement } from "../../../gateway/replacement/extension.js";
import { createRollouts } from "../../../gateway/rollouts/extension.js";
import { createSchedules } from "../../../gateway/schedules/extension.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { call, clientOf } from "../../support/call.js";
import { diskWith, systemError } from "../../support/disk.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { quickPlan } from "../../support/released-fleet.js";
import {
	bearer,
	deviceToken,
	type RunningGateway,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import {
	isAsBefore,
	label,
	next,
	old,
	type Shown,
	settings,
	settingsOf,
	setUp,
	shows,
	transfers,
	visit,
} from "./lobby.js";

function askAt({ api }: RunningGateway, method: string, from: string, by?: string) {
	return api(method, `/api/devices/${from}/replace`, by === undefined ? undefined : { by });
}

type Ask = (method: string, from: string, by?: string) => ReturnType<typeof askAt>;

async function run(t: TestContext) {
	const options = await settingsOf(await temporaryDirectory(t));
	const running = await runGateway(t, options);
	const { url } = running;
	const ask: Ask = (...words) => askAt(running, ...words);
	const connect = async (deviceId: string, more = {}) => {
		const device = await ScriptedDevice.join(t, { url, deviceId, ...more });
		return device;
	};
	const rejected = (deviceId: string) =>
		running.rejected("/device", { ...bearer(deviceToken), "Device-Id": deviceId });
	return { ...running, options, ask, connect, rejected };
}

/** Waits for this number of settings. */
async function hears(device: ScriptedDevice, expected: readonly object[]): Promise<void> {
	await waitUntil(() => told(device).length === expected.length);
	assert.deepEqual(told(device), expected);
}

/** Waits until no setting of the old board is left to send. */
async function nothingIsLeft(ask: Ask, device: ScriptedDevice, from: string): Promise<void> {
	const repeat = () => {
		device.report();
		return ask("POST", from, device.deviceId);
	};
	await eventually(repeat, ({ body }) => body.settings.length === 0);
}

/** Settings sent to a device, in order. */
const told = ({ commands }: ScriptedDevice) =>
	commands.filter(({ command }) => String(command).startsWith("set_") && command !== "set_quiet");
const wanted = [
	{ command: "set_volume", value: 35 },
	{ command: "set_mute", value: true },
	{ command: "set_brightness", value: 0.25 },
];

describe("replacement board", () => {
	test("receives name, room, quiet hours and memberships, and settings once connected", async (t) => {
		const { url, ask, connect } = await run(t);
		await setUp(url);
		const { status, body } = await ask("POST", old, next);
		const { at, ...rest } = body;
		assert.deepEqual([status, rest], [200, { deviceId: old, by: next, settings: wanted, doNotFit: [] }]);
		await transfers(url);
		const { before: [entry] = [], ...shown } = await call<Shown>(url, "GET", `devices/${next}`);
		assert.deepEqual({ ...shown, ...label }, shown);
		const expected = { at, who: "monitor", by: next, firmwareVersion: "1.2.3", model: "DEV-1" };
		assert.deepEqual({ ...entry, ...expected }, entry);
		assert.match(JSON.stringify(entry), /"versions":\[\{"version":"1\.2\.3"/);
		const device = await connect(next);
		await hears(device, wanted);
		// Not in its next session, which may have other settings.
		await device.restart();
		device.report({ "peripherals.audio.volume": 60 });
		await call(url, "POST", "commands", { targets: { devices: [next] }, payload: { command: "identify" } });
		await waitUntil(() => device.commands.some(({ command }) => command === "identify"));
		assert.equal(told(device).length, wanted.length);
	});

	test("is sent settings again after a restart of the gateway, until its report shows them", async (t) => {
		const { url, gateway, options, ask, connect } = await run(t);
		await setUp(url);
		await ask("POST", old, next);
		const deaf = await connect(next, { executesCommands: false });
		await hears(deaf, wanted);
		deaf.close();
		await gateway.close();
		const again = await runGateway(t, { ...options, port: Number(new URL(url).port) });
		const device = await ScriptedDevice.join(t, { url: again.url, deviceId: next });
		await hears(device, wanted);
	});

	test("reports unsupported settings of another model", async (t) => {
		const { url, ask, connect } = await run(t);
		await visit({
			url,
			deviceId: "proto-1-00000a",
			model: "PROTO-1",
			report: { ...settings, "peripherals.haptic_intensity": 40 },
		});
		const device = await connect(next);
		const { status, body } = await ask("POST", "proto-1-00000a", next);
		const others = [
			{ command: "set_auto_brightness", value: false },
			{ command: "set_haptics", value: 40 },
		];
		assert.deepEqual([status, body.settings], [200, [...wanted, ...others]]);
		assert.match(
			body.doNotFit.join(),
			/^set_auto_brightness exists on PROTO-1.* only,set_haptics exists on PROTO-1.* only$/,
		);
		device.report();
		await hears(device, wanted);
		// Missing settings are not sent forever.
		await nothingIsLeft(ask, device, "proto-1-00000a");
		assert.deepEqual(told(device), wanted);
	});

	test("is in a rollout once, even if it has ended there", async (t) => {
		const { url, ask } = await run(t);
		await visit({ url, deviceId: old });
		await visit({ url, deviceId: next, version: "1.4.0" });
		await call(url, "PUT", "rollouts/autumn", quickPlan());
		const steps = async () => {
			const params = { id: "autumn" };
			const { devices } = await clientOf(url).request("GET /api/rollouts/:id/devices", { params });
			return Object.fromEntries(devices.map(({ deviceId, status, reason }) => [deviceId, [status, reason]]));
		};
		const installed = ["already_installed", null];
		await eventually(steps, (all) => isDeepStrictEqual(all, { [old]: ["queued", null], [next]: installed }));
		await ask("POST", old, next);
		assert.deepEqual(await steps(), { [old]: ["removed", `Replaced by ${next}.`], [next]: installed });
	});

	test("keeps its own label if the old board has none", async (t) => {
		const { url, ask } = await run(t);
		for (const deviceId of [old, next]) await visit({ url, deviceId });
		await call(url, "PATCH", `devices/${next}`, { name: "Hall" });
		for (const name of ["Lobby", ""]) await call(url, "PATCH", `devices/${old}`, { name });
		assert.equal((await ask("POST", old, next)).status, 200);
		assert.equal((await call<Shown>(url, "GET", `devices/${next}`)).name, "Hall");
	});

	test("can be replaced again; the third board lists both, latest first, and both are rejected", async (t) => {
		const { url, ask, rejected } = await run(t);
		const third = "dev-1-00000c";
		await setUp(url);
		await visit({ url, deviceId: third });
		await ask("POST", old, next);
		await ask("POST", next, third);
		const { before = [], name } = await call<Shown>(url, "GET", `devices/${third}`);
		assert.deepEqual([name, before.map(({ deviceId }) => deviceId)], [label.name, [next, old]]);
		for (const deviceId of [old, next]) assert.equal((await rejected(deviceId)).status, 410);
		// Removing the last one removes the records of the others.
		await call(url, "DELETE", `devices/${third}`);
		assert.deepEqual([(await ask("DELETE", old)).status, (await ask("DELETE", next)).status], [404, 404]);
	});
});

describe("replaced board", () => {
	test("is rejected with a reason, even if identified by a report, and listed", async (t) => {
		const { url, ask, rejected } = await run(t);
		await setUp(url);
		await ask("POST", old, next);
		const { status, body } = await rejected(old);
		const reason = `${old} was replaced by ${next}. It can be readmitted in the history on the page of ${next}.`;
		assert.deepEqual([status, JSON.parse(body).detail], [410, reason]);
		const nameless = await ScriptedDevice.join(t, { url, deviceId: old, isNamedByHeader: false });
		await waitUntil(() => !nameless.isConnected);
		const { rejections } = await call<{ rejections: ListedRejection[] }>(url, "GET", "rejections");
		const found = rejections.map(({ what, deviceId, replacedBy, ...more }) => [
			what,
			deviceId,
			more.reason,
			replacedBy,
		]);
		assert.deepEqual(found, [
			["connection", null, reason, undefined],
			["connection", old, reason, next],
		]);
		const { devices } = await call<{ devices: Shown[] }>(url, "GET", "devices");
		const deviceIds = devices.map(({ deviceId }) => deviceId);
		assert.deepEqual(deviceIds, [next]);
	});

	test("is accepted as new after an undo, without its transferred data", async (t) => {
		const { url, ask, connect } = await run(t);
		await setUp(url);
		await ask("POST", old, next);
		assert.equal((await ask("DELETE", old)).status, 204);
		await connect(old);
		const names = async () => {
			const { devices } = await call<{ devices: Shown[] }>(url, "GET", "devices");
			return Object.fromEntries(devices.map(({ deviceId, name }) => [deviceId, name]));
		};
		await eventually(names, (all) => old in all);
		assert.deepEqual(await names(), { [old]: undefined, [next]: label.name });
		assert.deepEqual((await call<Shown>(url, "GET", `devices/${next}`)).before, []);
		assert.equal((await ask("DELETE", old)).status, 404);
	});

	test("is forgotten only once", async (t) => {
		const { url, ask } = await run(t);
		await setUp(url);
		const [first, second] = await Promise.all([ask("POST", old, next), ask("POST", old, next)]);
		const third = await ask("POST", old, next);
		assert.deepEqual([first.status, second.body, third.body], [200, first.body, first.body]);
		await transfers(url);
	});
});

test("rejects an invalid replacement with a message, and changes nothing", async (t) => {
	const { url, ask, connect, monitor } = await run(t);
	const third = "dev-1-00000c";
	await setUp(url);
	await visit({ url, deviceId: third });
	const sentence = async (status: number, from: string, by: string) => {
		const answer = await ask("POST", from, by);
		assert.equal(answer.status, status, JSON.stringify(answer.body));
		return answer.body.detail;
	};
	const unknown = "Device dev-1-ffffff not found. GET /api/devices lists all.";
	assert.equal(await sentence(404, "dev-1-ffffff", next), unknown);
	assert.equal(await sentence(404, old, "dev-1-ffffff"), unknown);
	assert.equal(await sentence(409, old, old), "A device cannot replace itself.");
	assert.match(await sentence(422, old, "no id"), /^by must be letters/);
	const updating = await connect("dev-1-00000d", { ending: "waits" });
	const client = await monitor();
	await client.request({ type: "trigger_ota", targetId: updating.deviceId, version: "1.4.0" });
	await updating.offered;
	const busy = `${updating.deviceId} is being updated. Wait until the update ends.`;
	assert.equal(await sentence(409, old, updating.deviceId), busy);
	const device = await connect(old);
	const online = `${old} is connected; switch it off before another device replaces it.`;
	assert.equal(await sentence(409, old, next), online);
	device.close();
	await shows(url, old, ({ connected }) => !connected);
	await isAsBefore(url);
	assert.equal((await ask("POST", old, next)).status, 200);
	const retired = `${old} was replaced by ${next}. It can be readmitted in the history on the page of ${next}.`;
	assert.equal(await sentence(409, old, third), retired);
	assert.equal(await sentence(409, third, old), retired);
	await transfers(url);
});

/** Disk that fails record writes and removals after this number, as if the gateway were killed. */
function endingDisk(times: number): Disk {
	let left = times;
	const records = /\/(replacements|labels|quiet-hours|schedules|rollouts|devices)\//;
	return diskWith((operation, path) => {
		if (!["create", "rename", "rm"].includes(operation) || !records.test(path)) return;
		if (operation === "create" && path.endsWith(".tmp")) return;
		left -= 1;
		if (left < 0) throw systemError("EIO");
	});
}

/** Extensions that own data of a board. */
const owners = [createFleet, createCommands, createSchedules, createRollouts, createReplacement];
/** Interval at which unfinished replacements are completed. */
const againMs = 3_000;

test("leaves the old board unchanged or resumes at the next start when killed at any write", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const made = await temporaryDirectory(t);
	const first = await runGateway(t, { ...(await settingsOf(made)), extensions: owners });
	await setUp(first.url);
	await first.gateway.close();
	let interrupted = 0;
	for (let writes = 0; ; writes += 1) {
		const dataDir = join(await temporaryDirectory(t), "data");
		await cp(made, dataDir, { recursive: true });
		const options = { ...(await settingsOf(dataDir)), extensions: owners };
		const ending = await runGateway(t, { ...options, disk: endingDisk(writes) });
		const { status } = await askAt(ending, "POST", old, next);
		await ending.gateway.close();
		const hasBegun = existsSync(join(dataDir, "replacements", `${old}.json`));
		const again = await runGateway(t, options);
		t.mock.timers.tick(againMs);
		if (hasBegun) await transfers(again.url);
		else await isAsBefore(again.url);
		await again.gateway.close();
		if (status === 200) break;
		assert.equal(status, 507);
		if (hasBegun) interrupted += 1;
		else assert.equal(interrupted, 0);
	}
	assert.ok(interrupted > 5, `interrupted ${interrupted} times`);
});

test("reports write errors, and completes later", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const options = await settingsOf(await temporaryDirectory(t));
	/** Path fragments that cannot be written or removed. */
	const broken = new Set<string>();
	const disk = diskWith((operation, path) => {
		if (["rename", "rm"].includes(operation) && [...broken].some((part) => path.includes(part)))
			throw systemError("EIO");
	});
	const running = await runGateway(t, { ...options, disk });
	const { url } = running;
	const says = async (expected: RegExp, method: string, from: string, by?: string) => {
		const { status, text } = await askAt(running, method, from, by);
		assert.match(`${status} ${text}`, expected);
	};
	await setUp(url);
	broken.add("/labels/");
	await says(/^507 .*not all of it could be written to the gateway's disk yet/, "POST", old, next);
	await says(/^409 .*are still being transferred/, "DELETE", old);
	const third = "dev-1-00000c";
	await visit({ url, deviceId: third });
	await says(/are still being transferred to dev-1-00000b\. Retry later/, "POST", next, third);
	broken.clear();
	t.mock.timers.tick(againMs);
	await transfers(url);
	broken.add("/replacements/");
	await says(/^507 .*could not be removed/, "DELETE", old);
	// The replacement is undone.
	await says(/^200 /, "POST", old, next);
	broken.clear();
	await says(/^204 /, "DELETE", old);
});
