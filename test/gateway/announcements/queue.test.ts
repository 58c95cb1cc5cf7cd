/** Tests of announcements for a device that is playing another one. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Feature, features } from "../../../device/protocol/messages.js";
import { waitUntil } from "../../support/eventually.js";
import { run as runSounds } from "./run.js";

async function run(t: TestContext, has: readonly Feature[] = features) {
	let late = 0;
	const gateway = await runSounds(t, { monotonic: () => performance.now() + late });
	const device = await gateway.device("1", { does: "is silent", features: has });
	const announce = (more: object = {}) =>
		gateway.announce({ url: "http://10.0.0.1/a.wav", targets: { all: true }, ...more });
	/** Received play commands. */
	const sent = () =>
		device.commands.filter(({ command }) => command === "play_sound").map(({ value }) => Object(value));
	const isSent = async (...ids: readonly string[]) => {
		await waitUntil(() => sent().length >= ids.length);
		const sentIds = sent().map(({ id }) => id);
		assert.deepEqual(sentIds, ids);
	};
	const plays = async (id: string) => {
		device.update(id, "playing");
		await gateway.becomes(id, "playing");
	};
	const pass = (ms: number) => {
		late += ms;
	};
	return { ...gateway, device, announce, sent, isSent, plays, pass };
}

test("sends a queueing device the next sound early, others at an end, urgent ones immediately", async (t) => {
	const { device, announce, plays, becomes, sent, isSent } = await run(t);
	const [first, second, third, low] = [
		await announce(),
		await announce({ expires: 60 }),
		await announce(),
		await announce({ priority: "low" }),
	];
	await plays(first);
	await isSent(first, second);
	assert.deepEqual([sent()[0].priority, sent()[0].expires, sent()[1].expires], ["normal", 300, 60]);
	assert.deepEqual(device.urls, ["http://10.0.0.1/a.wav", "http://10.0.0.1/a.wav"]);
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
	const chimes = sent().map(({ chime, chime_volume }) => `${chime} ${chime_volume}`);
	assert.deepEqual(chimes, ["attention 30", "startup undefined"]);
	const older = await run(t, ["sound", "queue"]);
	await older.isSent(await older.announce(chime));
	assert.deepEqual([older.sent()[0].chime, older.sent()[0].chime_volume], [undefined, undefined]);
});

test("queues at the gateway for older firmware, and replaces the current sound by an urgent one", async (t) => {
	const older = features.filter((name) => name !== "queue");
	const { device, announce, plays, becomes, sent, isSent } = await run(t, older);
	const [first, second] = [await announce(), await announce()];
	await plays(first);
	const urgent = await announce({ priority: "urgent" });
	await isSent(first, urgent);
	assert.deepEqual(Object.keys(sent()[1]), ["id", "url"], "only supported fields");
	device.update(first, "stopped", { reason: "another sound" });
	await becomes(first, "stopped");
	await isSent(first, urgent);
	device.update(urgent, "played");
	await isSent(first, urgent, second);
});

test("queues the announcement sent last again if the device has no room for it", async (t) => {
	const { device, announce, plays, isSent } = await run(t);
	const [first, second] = [await announce(), await announce()];
	await plays(first);
	const [low, third] = [await announce({ priority: "low" }), await announce()];
	device.update(first, "played");
	await isSent(first, second, third);
	device.update(second, "played");
	await isSent(first, second, third, low);
	device.reject("play_sound", "3 sounds are queued; try again after one of them");
	device.update(third, "played");
	await isSent(first, second, third, low, low);
});

test("queues eight, rejects a ninth, never sends a stopped one, and times out late ones", async (t) => {
	const { device, announce, plays, shown, becomes, isSent, pass, call } = await run(t);
	const first = await announce();
	await plays(first);
	const waiting: string[] = [];
	for (let count = 0; count < 8; count++) waiting.push(await announce({ expires: 600 }));
	const tooMany = await announce();
	assert.equal((await shown(tooMany)).devices[0].state, "busy");
	const [second = "", third = "", fourth = ""] = waiting;
	await call("DELETE", `/api/announcements/${third}`);
	await becomes(third, "stopped");
	await isSent(first, second);
	device.update(second, "waiting");
	pass(601_000);
	await becomes(fourth, "expired");
	assert.equal((await shown(second)).devices[0].state, "waiting", "reported by the device");
	device.update(second, "expired");
	await becomes(second, "expired");
});
