/** Gateways that check a schedule in the same turn: one claim wins. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createBase } from "../../../gateway/base.js";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { Schedules } from "../../../gateway/schedules/schedules.js";
import { commandJobs, type JobService } from "../../../gateway/services/jobs.js";
import { Services } from "../../../gateway/services/service.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { eventually } from "../../support/eventually.js";
import { Random } from "../../support/random.js";
import { temporaryDirectory } from "../../support/running.js";
import { memoryBuses } from "../cluster/memory-buses.js";
import { Clock } from "./gateway.js";

const asked = { targets: { all: true }, payload: { command: "identify" } } as const;

async function run(t: TestContext, count: number) {
	const clock = new Clock("2026-11-27T12:00:00Z");
	const buses = await memoryBuses();
	/** Number of starts by job. */
	const begun = new Map<string, number>();
	const commands: JobService = {
		check: (command) => Object(command),
		begin: async (_command, { id = "", onSent }) => {
			begun.set(id, (begun.get(id) ?? 0) + 1);
			onSent?.(null);
			return id;
		},
		has: async () => false,
	};
	const all: Schedules[] = [];
	for (let index = 0; index < count; index += 1) {
		const bus = await buses.connect();
		const dataDir = await temporaryDirectory(t);
		const base = createBase({
			...joinGateways(bus, dataDir, []),
			dataDir,
			now: clock.now,
			log: createLog("silent"),
			limits: { scheduleSettleMs: 0, scheduleTakeOverMs: 60_000 },
		});
		const services = new Services();
		commandJobs.provide(commands)(services);
		const schedules = new Schedules({ ...base, services, emit: () => {} }, "UTC");
		await schedules.open();
		t.after(() => schedules.close());
		all.push(schedules);
	}
	return { clock, all, begun };
}

test("lets one of three gateways act each day", async (t) => {
	const { clock, all, begun } = await run(t, 3);
	const [first] = all;
	assert.ok(first, "no gateway");
	const random = new Random(1);
	const times = Array.from({ length: 20 }, () => `17:${random.between(56, 59)}`);
	for (const time of times)
		await first.create({ at: { weekly: { time } }, do: { command: asked } }, { command: asked }, "anna");
	const know = (count: number) =>
		eventually(
			() => all.map((each) => each.list().length),
			(found) => found.every((each) => each === count),
		);
	await know(times.length);
	for (let day = 27; day <= 30; day += 1) {
		clock.set(`2026-11-${day}T18:00:00Z`);
		for (const each of all) each.tick();
		const last = () => all.flatMap((each) => each.list().map((found) => found.last?.dueAt.slice(0, 10)));
		await eventually(last, (found) => found.every((each) => each === `2026-11-${day}`));
	}
	assert.deepEqual([...begun.values()], Array(4 * times.length).fill(1));
});
