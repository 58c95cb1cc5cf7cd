/** Schedules and quiet hours of a gateway: requests, roles, devices and their sounds. */

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { features } from "../../../device/protocol/messages.js";
import { sha256Of } from "../../support/bytes.js";
import { call } from "../../support/call.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { needs } from "../../support/extensions.js";
import { type RunOptions, runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import { tone, wav as wavOf } from "../../support/sounds.js";
import { Clock } from "./run.js";

const all = { all: true };
const identify = { command: { targets: all, payload: { command: "identify" } } };
const daily = { at: { weekly: { time: "18:00" } }, do: identify };
const nights = { targets: all, from: "22:00", until: "07:00", volume: 20 };
const wav = wavOf(tone(1_600));
const soundId = sha256Of(wav);

async function run(t: TestContext, options: RunOptions = {}, time = "2026-11-27T12:00:00Z") {
	const clock = new Clock(time);
	const { now, monotonic } = clock;
	const rest = { now, monotonic, timeZone: "Europe/Berlin", limits: { scheduleSettleMs: 0 } };
	const gateway = await runGateway(t, { ...rest, ...options });
	const call = (method: string, path: string, body?: object, token?: string) =>
		gateway.api(method, `/api/${path}`, body, token);
	const connect = async (deviceId = "dev-1-000001") => {
		const monitor = await gateway.monitor();
		const device = await ScriptedDevice.join(t, { url: gateway.url, deviceId, features });
		await monitor.until((frame) => frame.type === "device_message" && frame.deviceId === deviceId);
		return device;
	};
	const ended = (id: string) =>
		eventually(
			async () =>
				(await call("GET", "schedules")).body.schedules.find((schedule: { id: string }) => schedule.id === id)
					.last,
			(last) => last !== null,
		);
	return { ...gateway, clock, call, connect, ended };
}

test("runs a schedule, lists a failed one, and counts both", needs("commands", "fleet"), async (t) => {
	const { metrics, clock, call, connect, ended } = await run(t);
	const device = await connect();
	const { status, body } = await call("POST", "schedules", daily);
	assert.equal(status, 201);
	await call("PATCH", "devices/dev-1-000001", { room: "Kitchen" });
	const inRoom = { command: { ...identify.command, targets: { room: "Kitchen" } } };
	const { body: dinner } = await call("POST", "schedules", { ...daily, name: "Dinner", do: inRoom });
	await call("PATCH", "devices/dev-1-000001", { room: "" });
	await call("POST", "schedules", { ...daily, on: false });
	clock.passTo("2026-11-27T17:00:00Z");
	const { job, outcome } = await ended(body.id);
	assert.equal(outcome, "done");
	await device.receives({ command: "identify" });
	assert.equal((await call("GET", `commands/${job}`)).body.by, "monitor");
	const { reason } = await ended(dinner.id);
	const listed = async () => (await call("GET", "rejections")).body.rejections;
	const [{ what, remoteAddress, ...rest }] = await eventually(listed, ({ length }) => length > 0);
	assert.deepEqual([what, remoteAddress, rest.reason], ["schedule", "Dinner", reason]);
	assert.deepEqual((await metrics()).match(/^gateway_schedules.*$/gm)?.sort(), [
		'gateway_schedules{on="false",outcome="none"} 1',
		'gateway_schedules{on="true",outcome="done"} 1',
		'gateway_schedules{on="true",outcome="failed"} 1',
	]);
});

test("moves schedules and quiet hours with a room's new name", needs("commands", "fleet"), async (t) => {
	const { call, connect } = await run(t);
	await connect();
	await call("PATCH", "devices/dev-1-000001", { room: "Kitchen" });
	const targets = { room: "Kitchen" };
	await call("POST", "schedules", { ...daily, do: { command: { ...identify.command, targets } } });
	await call("PUT", "quiet-hours", { ...nights, targets });
	await call("PATCH", "devices/dev-1-000001", { room: "Hall" });
	const rooms = async () => {
		const { schedules } = (await call("GET", "schedules")).body;
		const { quietHours } = (await call("GET", "quiet-hours")).body;
		return [schedules[0].do.command.targets.room, quietHours[0].targets.room];
	};
	await eventually(rooms, (found) => found.join() === "Hall,Hall");
});

test("rejects a schedule whose action cannot be executed", needs("announcements", "commands"), async (t) => {
	const { call, connect } = await run(t);
	await connect();
	const { body: own } = await call("POST", "schedules", daily);
	const announced = (change: object) => ({
		announcement: { url: "http://10.0.0.1/a.wav", targets: all, ...change },
	});
	for (const [change, expected] of [
		[{ do: announced({ url: undefined, sound: "5f2a" }) }, 422],
		[{ do: announced({ url: undefined, text: "Dinner" }) }, 501],
		[{ do: { command: { targets: all, payload: { command: "explode" } } } }, 422],
	] as const)
		for (const [method, path] of Object.entries({ POST: "schedules", PUT: `schedules/${own.id}` })) {
			const { status, body } = await call(method, path, { ...daily, ...change });
			assert.equal(status, expected, `${method} ${JSON.stringify(change)}: ${body.detail}`);
		}
	assert.deepEqual((await call("GET", "schedules")).body, { zone: "Europe/Berlin", schedules: [own] });
});

test("requires the permission for a schedule's present and new action", needs("commands"), async (t) => {
	const { call, connect } = await run(t);
	await connect();
	const { token } = (await call("POST", "tokens", { name: "ben", role: "user" })).body;
	const { body: own } = await call("POST", "schedules", daily, token);
	assert.equal(own.by, "ben");
	const restart = { ...daily, do: { command: { targets: all, payload: { command: "restart" } } } };
	const { body: others } = await call("POST", "schedules", restart);
	for (const [method, path, body, status] of [
		["POST", "schedules", restart, 403],
		["PUT", `schedules/${own.id}`, restart, 403],
		["PUT", `schedules/${others.id}`, daily, 403],
		["DELETE", `schedules/${others.id}`, undefined, 403],
		["PUT", `schedules/${own.id}`, daily, 200],
		["DELETE", `schedules/${own.id}`, undefined, 204],
	] as const)
		assert.equal((await call(method, path, body, token)).status, status, `${method} ${path}`);
});

test("keeps the sound of a schedule until played, across restarts", needs("announcements"), async (t) => {
	const dataDir = await temporaryDirectory(t);
	const files = async () => (await fs.readdir(join(dataDir, "sound-files"))).length;
	const first = await run(t, { dataDir });
	await first.connect();
	await call(first.url, "POST", "sounds?name=Gong&temporary=true", wav);
	const action = { announcement: { sound: soundId, targets: { devices: ["dev-1-000001"] } } };
	const { body: closing } = await first.call("POST", "schedules", { ...daily, name: "Closing", do: action });
	const { status, body } = await first.call("DELETE", `sounds/${soundId}`);
	assert.equal(status, 409);
	assert.match(body.detail, /^Gong .*Closing/);
	await first.gateway.close();

	const second = await run(t, { dataDir });
	assert.deepEqual([(await second.call("GET", "sounds")).body.sounds[0].name, await files()], ["Gong", 1]);
	const device = await second.connect();
	second.clock.passTo("2026-11-27T17:00:00Z");
	const { job } = await second.ended(closing.id);
	await waitUntil(() => Object(device.commands.at(-1)?.value).id === job);
	await second.call("DELETE", `schedules/${closing.id}`);
	await second.gateway.close();
	await run(t, { dataDir }, "2026-11-27T20:00:00Z");
	await eventually(files, (count) => count === 0);
});
