/** Schedules and quiet hours of a cluster: one gateway acts, each knows all. */

import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { features } from "../../../device/protocol/messages.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { bearer, monitorToken, temporaryDirectory } from "../../support/running.js";
import { tone, wav } from "../../support/sounds.js";
import { type Clustered, runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { Clock, ended, ofActions, QuietDevice, quietHoursOf, schedulesOf } from "./gateway.js";

const noon = "2026-11-27T12:00:00Z";
const ids = ["dev-1-000001", "dev-1-000002", "dev-1-000003"];
const loud = (volume: number) => ({
	command: { targets: { devices: ids }, payload: { command: "set_volume", value: volume } },
});

async function run(t: TestContext, options: Parameters<typeof runGateways>[3] = {}) {
	const clock = new Clock(noon);
	const buses = await memoryBuses();
	const limits = { scheduleSettleMs: 0, ...options.limits };
	const gateways = await runGateways(t, buses, 3, {
		now: clock.now,
		timeZone: "Europe/Berlin",
		...options,
		limits,
	});
	const devices: QuietDevice[] = [];
	for (const [index, deviceId] of ids.entries()) {
		const { url } = gateways[index] ?? {};
		assert.ok(url, `no gateway for device ${index}`);
		const device = await new QuietDevice({ url, deviceId, features }).connect();
		t.after(() => device.close());
		devices.push(device);
	}
	for (const gateway of gateways)
		await eventually(
			() => connectedTo(gateway),
			(count) => count === 3,
		);
	return { clock, buses, gateways, devices };
}

/** Number of devices of all gateways that a gateway knows as connected. */
async function connectedTo({ open }: Clustered): Promise<number> {
	const monitor = await open("/monitor", { headers: bearer(monitorToken) });
	const { sessions } = await monitor.next();
	monitor.socket.terminate();
	return sessions.filter(({ connected, state }) => connected && state !== null).length;
}

const heard = ({ commands }: QuietDevice, command: string) =>
	commands.filter((each) => each.command === command);

test("runs each due schedule at one of three gateways; all show the same", ofActions, async (t) => {
	const { clock, gateways, devices } = await run(t);
	const [a, b] = gateways;
	const { status, body } = await b.api("POST", "/api/schedules", {
		at: { weekly: { time: "18:00" } },
		do: loud(80),
	});
	assert.equal(status, 201);
	for (const day of ["2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30"]) {
		clock.set(`${day}T17:00:00Z`);
		const shown = await Promise.all(gateways.map(({ url }) => ended(url, body.id, `${day}T17:00:00.000Z`)));
		assert.deepEqual([shown[0]?.last?.outcome, shown[1], shown[2]], ["done", shown[0], shown[0]]);
	}
	// Later commands follow excess ones.
	await a.api("POST", "/api/commands", loud(10).command);
	for (const device of devices) {
		const isLast = (found: readonly object[]) => Object(found.at(-1)).value === 10;
		const found = await eventually(() => heard(device, "set_volume"), isLast);
		assert.equal(found.length, 5);
	}
});

test(
	"runs once a schedule changed at another gateway when due, and never a deleted one",
	ofActions,
	async (t) => {
		const { clock, gateways, devices } = await run(t);
		const [a, b] = gateways;
		const daily = { at: { weekly: { time: "18:00" } }, do: loud(80) };
		const { body: changed } = await a.api("POST", "/api/schedules", daily);
		const { body: deleted } = await a.api("POST", "/api/schedules", { ...daily, do: loud(70) });
		const knows = async () => (await schedulesOf(b.url)).length;
		await eventually(knows, (count) => count === 2);
		assert.equal((await b.api("DELETE", `/api/schedules/${deleted.id}`)).status, 204);
		clock.set("2026-11-27T17:00:00Z");
		const path = `/api/schedules/${changed.id}`;
		for (let count = 0; count < 20; count += 1)
			assert.equal((await b.api("PUT", path, { ...daily, name: `Name ${count}` })).status, 200);
		await ended(a.url, changed.id);
		for (const { url } of gateways) {
			const isSame = (found: readonly { name?: string }[]) =>
				found.length === 1 && found[0]?.name === "Name 19";
			await eventually(() => schedulesOf(url), isSame);
		}
		for (const device of devices) {
			const values = () => heard(device, "set_volume").map(({ value }) => value);
			assert.deepEqual(await eventually(values, ({ length }) => length > 0), [80]);
		}
	},
);

test("takes over the claim of a lost gateway", ofActions, async (t) => {
	const { clock, buses, gateways, devices } = await run(t, { limits: { scheduleTakeOverMs: 300 } });
	const [a] = gateways;
	const { body } = await a.api("POST", "/api/schedules", { at: { in: 3600 }, do: loud(80) });
	const bucket = await (await buses.connect()).bucket("gw-record-schedules");
	const entry = await bucket.get(String(body.id));
	const { nextAt: dueAt, ...record } = JSON.parse(entry?.text ?? "{}");
	clock.set("2026-11-27T13:00:10Z");
	const claim = { dueAt, job: "0123456789abcdef", gateway: "a gateway that was killed" };
	assert.notEqual(
		await bucket.set(
			String(body.id),
			JSON.stringify({ ...record, nextAt: null, claim }),
			entry?.revision ?? 0,
		),
		undefined,
	);
	const { last } = await ended(a.url, body.id);
	assert.deepEqual([last?.outcome, last?.job], ["late", "0123456789abcdef"]);
	const path = "/api/commands/0123456789abcdef";
	await eventually(
		async () => [(await gateways[0]?.api("GET", path))?.status],
		([status]) => status === 200,
	);
	for (const device of devices)
		await eventually(
			() => heard(device, "set_volume").length,
			(count) => count === 1,
		);
});

test("does not take over slow text-to-speech, and plays it once", ofActions, async (t) => {
	const directory = await temporaryDirectory(t);
	await writeFile(join(directory, "a.wav"), wav(tone(1_600)));
	const program = join(directory, "speak.sh");
	await writeFile(program, `#!/bin/sh\necho once >> ${directory}/runs\nsleep 2\ncat ${directory}/a.wav\n`);
	await chmod(program, 0o755);
	const { gateways, devices } = await run(t, {
		environment: { SPEECH_COMMAND: program },
		limits: { scheduleTakeOverMs: 300 },
	});
	const [a] = gateways;
	const announcement = { text: "Pizza", targets: { devices: ids }, together: false };
	const { body } = await a.api("POST", "/api/schedules", { at: { in: 1 }, do: { announcement } });
	const { last } = await ended(a.url, body.id);
	assert.equal(last?.outcome, "late");
	assert.equal(await readFile(join(directory, "runs"), "utf8"), "once\n");
	for (const device of devices)
		assert.deepEqual(
			(
				await eventually(
					() => heard(device, "play_sound"),
					({ length }) => length > 0,
				)
			).map(({ value }) => Object(value).id),
			[last?.job],
		);
});

test("sends quiet hours set at one gateway to the devices of all", async (t) => {
	const { gateways, devices } = await run(t);
	const [a, b] = gateways;
	const nights = { targets: { all: true }, from: "22:00", until: "07:00", volume: 20 };
	const { body } = await a.api("PUT", "/api/quiet-hours", nights);
	for (const device of devices) await waitUntil(() => device.quiet.length >= 1);
	const [value] = devices.map(({ quiet }) => quiet[0]);
	for (const device of devices) assert.deepEqual(device.quiet, [value]);
	assert.deepEqual(await quietHoursOf(b.url), [body]);
	assert.equal((await b.api("DELETE", `/api/quiet-hours/${body.id}`)).status, 204);
	for (const device of devices) await waitUntil(() => device.quiet.length >= 2);
	for (const device of devices) assert.deepEqual(device.quiet, [value, null]);
});
