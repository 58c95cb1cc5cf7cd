/** Schedules and quiet hours of a cluster: one gateway acts, each knows all. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { features } from "../../../device/protocol/messages.js";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { MemoryServer } from "../../support/memory-bus.js";
import { Random } from "../../support/random.js";
import { runGateways } from "../cluster/gateways.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { Clock, runSchedules } from "./run.js";

const payload = { command: "identify" } as const;
const loud = { command: { targets: { all: true }, payload } };
const daily = { at: { weekly: { time: "18:00" } }, do: loud };

describe("schedule", () => {
	async function cluster(t: TestContext) {
		const clock = new Clock("2026-11-27T12:00:00Z");
		const server = new MemoryServer();
		const join = async () => {
			const dataDir = await temporaryDirectory(t);
			const { extensions: _, ...joined } = joinGateways(server.connect(), dataDir, []);
			return runSchedules(t, clock, { zone: "UTC", ...joined, dataDir });
		};
		const all = [await join(), await join(), await join()] as const;
		all[0].settle();
		const know = (count: number) =>
			waitUntil(() => all.every(({ schedules }) => schedules.list().length === count));
		const begun = () => all.flatMap(({ jobs }) => jobs.begun.map(({ id }) => id));
		return { clock, all, know, begun };
	}

	test("is run by one of three gateways each day, and shown by all", async (t) => {
		const { clock, all, know, begun } = await cluster(t);
		const [a] = all;
		const random = new Random(1);
		const count = 20;
		for (let index = 0; index < count; index += 1)
			await a.make({ at: { weekly: { time: `17:${random.between(56, 59)}` } }, do: loud });
		await know(count);
		for (let day = 27; day <= 30; day += 1) {
			clock.passTo(`2026-11-${day}T18:00:00Z`);
			for (const { schedules } of all) schedules.tick();
			const isDone = () =>
				all.every(({ schedules }) =>
					schedules.list().every(({ last }) => last?.dueAt.startsWith(`2026-11-${day}`)),
				);
			await waitUntil(isDone);
		}
		assert.deepEqual([begun().length, new Set(begun()).size], [4 * count, 4 * count]);
	});

	test("runs once if changed at another gateway when due, and never if deleted there", async (t) => {
		const { clock, all, know, begun } = await cluster(t);
		const [a, b, c] = all;
		const [changed, deleted] = [await a.make(daily), await a.make(daily)];
		await know(2);
		await b.schedules.store.remove(deleted);
		clock.passTo("2026-11-27T18:00:00Z");
		for (const { schedules } of [a, c]) schedules.tick();
		for (let count = 0; count < 20; count += 1)
			await b.schedules.change(changed, { ...daily, name: `Name ${count}` }, loud, "ben");
		await Promise.all(all.map(({ until, find }) => until(() => find(changed)?.name === "Name 19")));
		await a.until(() => a.find(changed)?.last);
		await know(1);
		assert.equal(begun().length, 1);
	});
});

test("sends quiet hours set at one gateway to the devices of another", async (t) => {
	const [a, b] = await runGateways(t, await memoryBuses(), 2);
	const device = await a.join("dev-1-000001", { features });
	const { body } = await b.api("PUT", "/api/quiet-hours", {
		targets: { all: true },
		from: "22:00",
		until: "07:00",
		volume: 20,
	});
	const sent = () =>
		device.commands.filter(({ command }) => command === "set_quiet").map(({ value }) => value);
	await eventually(sent, ([value]) => Object(value).volume === 20);
	assert.deepEqual(Object((await a.api("GET", "/api/quiet-hours")).body.quietHours)[0], body);
	assert.equal((await a.api("DELETE", `/api/quiet-hours/${body.id}`)).status, 204);
	await eventually(sent, ([, value]) => value === null);
});
