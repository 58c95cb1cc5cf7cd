/** Tests of announcements for a device that is playing another one. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Feature, features } from "../../../device/protocol/messages.js";
import { waitUntil } from "../../support/eventually.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";
import { SoundDevice } from "./sound-device.js";

const deviceId = "dev-1-000001";

async function run(t: TestContext, has: readonly Feature[] = features) {
	let late = 0;
	const gateway = await runGateway(t, { monotonic: () => performance.now() + late });
	const monitor = await gateway.monitor();
	const device = await new SoundDevice({
		url: gateway.url,
		deviceId,
		does: "is silent",
		features: has,
	}).connect();
	t.after(() => device.close());
	await monitor.until(({ type, sessions }) => type === "status_update" && sessions[0]?.state != null);
	const call = async (method: string, path: string, body?: object) => {
		const headers = bearer(monitorToken);
		const content = body && { body: JSON.stringify(body) };
		const text = await (await fetch(`${gateway.url}${path}`, { method, headers, ...content })).text();
		return text === "" ? undefined : JSON.parse(text);
	};
	const announce = async (more: object = {}) => {
		const asked = { url: "http://10.0.0.1/a.wav", targets: { all: true }, ...more };
		return String((await call("POST", "/api/announcements", asked)).id);
	};
	const stateOf = async (id: string) => (await call("GET", `/api/announcements/${id}`)).devices[0].state;
	const becomes = async (id: string, state: string) => {
		await waitUntil(async () => (await stateOf(id)) === state);
	};
	/** Received play commands. */
	const sent = () =>
		device.commands.filter(({ command }) => command === "play_sound").map(({ value }) => Object(value));
	const isSent = async (...ids: readonly string[]) => {
		await waitUntil(() => sent().length >= ids.length);
		assert.deepEqual(
			sent().map(({ id }) => id),
			ids,
		);
	};
	const pass = (ms: number) => {
		late += ms;
	};
	return {
		device,
		announce,
		stateOf,
		becomes,
		sent,
		isSent,
		pass,
		stop: (id: string) => call("DELETE", `/api/announcements/${id}`),
	};
}

test("sends a queueing device the next sound early, others at an end, urgent ones immediately", async (t) => {
	const { device, announce, becomes, sent, isSent } = await run(t);
	const [first, second, third, low] = [
		await announce(),
		await announce({ expires: 60 }),
		await announce(),
		await announce({ priority: "low" }),
	];
	device.update(first, "playing");
	await becomes(first, "playing");
	await isSent(first, second);
	assert.deepEqual([sent()[0].priority, sent()[0].expires, sent()[1].expires], ["normal", 300, 60]);
	const urgent = await announce({ priority: "urgent" });
	await isSent(first, second, urgent);
	assert.equal(sent()[2].priority, "urgent");
	const urgentToo = await announce({ priority: "urgent" });
	for (const [id, state] of [
		[first, "waiting"],
		[urgent, "playing"],
		[urgent, "played"],
		[first, "resumed"],
	] as const)
		device.update(id, state);
	await becomes(first, "resumed");
	await isSent(first, second, urgent, urgentToo);
	device.update(urgentToo, "played");
	device.update(first, "played");
	await becomes(first, "played");
	await isSent(first, second, urgent, urgentToo, third);
	device.update(second, "played");
	await isSent(first, second, urgent, urgentToo, third, low);
});

test("sends a chime and its volume only to devices that support them", async (t) => {
	const chime = { chime: "attention", chimeVolume: 30 };
	const { announce, sent, isSent } = await run(t);
	const ids = [await announce(chime), await announce({ chime: "startup" })];
	await isSent(...ids);
	assert.deepEqual(
		sent().map(({ chime, chime_volume }) => [chime, chime_volume]),
		[
			["attention", 30],
			["startup", undefined],
		],
	);
	const older = await run(t, ["sound", "queue"]);
	await older.isSent(await older.announce(chime));
	const [{ chime: none, chime_volume: noVolume }] = [Object(older.sent()[0])];
	assert.deepEqual([none, noVolume], [undefined, undefined]);
});

test("queues at the gateway for older firmware, and replaces the current sound by an urgent one", async (t) => {
	const { device, announce, becomes, sent, isSent } = await run(
		t,
		features.filter((name) => name !== "queue"),
	);
	const [first, second] = [await announce(), await announce()];
	device.update(first, "playing");
	await becomes(first, "playing");
	const urgent = await announce({ priority: "urgent" });
	await isSent(first, urgent);
	assert.deepEqual(Object.keys(sent()[1]), ["id", "url"], "only supported fields");
	device.update(first, "stopped", { reason: "another sound" });
	await becomes(first, "stopped");
	await isSent(first, urgent);
	device.update(urgent, "played");
	await isSent(first, urgent, second);
});

test("queues eight, rejects a ninth, never sends a stopped one, and times out late ones", async (t) => {
	const { device, announce, stateOf, becomes, isSent, pass, stop } = await run(t);
	const first = await announce();
	device.update(first, "playing");
	await becomes(first, "playing");
	const waiting: string[] = [];
	for (let count = 0; count < 8; count++) waiting.push(await announce({ expires: 600 }));
	const tooMany = await announce();
	assert.equal(await stateOf(tooMany), "busy");
	const [second = "", third = "", fourth = ""] = waiting;
	await stop(third);
	await becomes(third, "stopped");
	await isSent(first, second);
	device.update(second, "waiting");
	pass(601_000);
	await becomes(fourth, "expired");
	assert.equal(await stateOf(second), "waiting", "reported by the device");
	device.update(second, "expired");
	await becomes(second, "expired");
});
