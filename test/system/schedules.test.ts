/** Schedules and quiet hours through a gateway to devices in XS. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { bearer, monitorToken } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";

const headers = bearer(monitorToken);

/** @returns the response */
async function ask(url: string, method: string, path: string, body?: Buffer | object) {
	const isFile = Buffer.isBuffer(body);
	const type = { "Content-Type": isFile ? "audio/wav" : "application/json" };
	const content = isFile ? Uint8Array.from(body) : JSON.stringify(body);
	const init = { method, headers: { ...headers, ...type }, ...(body && { body: content }) };
	const text = await (await fetch(`${url}${path}`, init)).text();
	return Object(text === "" ? {} : JSON.parse(text));
}

const timeOfDay = (at: number) => new Date(at).toISOString().slice(11, 16);

test("a timer announces on all devices after its chime; then quiet hours apply except to urgent sounds", async (t) => {
	const fleet = await runFleet(t, undefined, { timeZone: "UTC", limits: { scheduleSettleMs: 0 } });
	const { url } = fleet;
	const samples = noise(bytesPerSecond);
	const devices = [];
	for (const serial of ["a1b2c3", "d4e5f6"]) {
		const each = await fleet.powerOn("DEV-1", { serial });
		await each.report();
		devices.push({ ...each, captured: capture(each.device.board) });
	}
	const { id: sound } = await ask(url, "POST", "/api/sounds?name=Pizza", wav(samples));
	const announcement = { sound, targets: { all: true }, chime: "attention" };
	const { id } = await ask(url, "POST", "/api/schedules", { at: { in: 1 }, do: { announcement } });
	const done = await eventually(
		async () => (await ask(url, "GET", "/api/schedules")).schedules[0],
		(schedule) => schedule.last !== null,
	);
	assert.deepEqual([done.id, done.last.outcome], [id, "done"]);
	const statesOf = async (job: string) => {
		const found = await ask(url, "GET", `/api/announcements/${job}`);
		return found.devices.map(({ state, reason }: { state: string; reason: string | null }) => [
			state,
			reason,
		]);
	};
	const isOver = (states: readonly (readonly [string, unknown])[]) =>
		states.every(([state]) => state === "played" || state === "stopped");
	assert.deepEqual(await eventually(() => statesOf(done.last.job), isOver), [
		["played", null],
		["played", null],
	]);
	for (const { captured } of devices) {
		const at = await eventually(
			() => captured().indexOf(samples),
			(index) => index >= 0,
		);
		const found = captured();
		assert.ok(at > 0.9 * bytesPerSecond, "after the chime and the pause");
		assert.equal(found.indexOf(samples, at + 1), -1, "once");
		assert.ok(
			found.subarray(0, at).some((byte) => byte !== 0),
			"the chime is audible",
		);
	}

	const hours = { from: timeOfDay(Date.now() - 60_000), until: timeOfDay(Date.now() + 7_200_000) };
	const targets = { all: true };
	await ask(url, "PUT", "/api/quiet-hours", { targets, ...hours, volume: 10, onlyUrgent: true });
	const quiet = [];
	for (const { report } of devices)
		quiet.push((await report((each) => each.quiet?.until !== undefined)).quiet);
	const [listed] = (await ask(url, "GET", "/api/quiet-hours")).quietHours;
	assert.deepEqual(quiet, [quiet[0], quiet[0]]);
	assert.equal(quiet[0]?.until, listed.holdsUntil);
	const play = async (more: object) => {
		const { id: job } = await ask(url, "POST", "/api/announcements", { sound, targets, ...more });
		return eventually(() => statesOf(job), isOver);
	};
	assert.deepEqual(await play({}), [
		["stopped", "quiet hours"],
		["stopped", "quiet hours"],
	]);
	assert.deepEqual(await play({ priority: "urgent" }), [
		["played", null],
		["played", null],
	]);
	assert.deepEqual(await ask(url, "DELETE", `/api/quiet-hours/${listed.id}`), {});
	for (const { report } of devices) await report((each) => each.quiet === undefined);
	assert.deepEqual(await play({}), [
		["played", null],
		["played", null],
	]);
});
