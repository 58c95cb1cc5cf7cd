import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { days } from "../../../gateway/api/times.js";
import { RequestError } from "../../../gateway/problem.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { runs } from "../../support/property-runs.js";
import { run, smallest } from "./run.js";
import { newVersion, startedAt } from "./simulated-fleet.js";

const pick = fc.constantFrom;
const year = fc.oneof(fc.integer({ min: 0, max: 9999 }), pick(0, 1969, 1970, 2026, 9999));
const isoTime = fc
	.tuple(
		year,
		pick("01-01", "02-29", "12-02", "12-31", "13-01"),
		pick("00:00", "23:59:59.999", "23:59:59.99999", "24:00"),
		pick("Z", "Z", "-23:59", "+23:59", "+99:00"),
	)
	.map(([y, day, clock, zone]) => `${String(y).padStart(4, "0")}-${day}T${clock}${zone}`);
/** Mostly up to a limit, occasionally beyond it. */
const number = (least: number, most: number) =>
	fc.oneof(
		{ weight: 20, arbitrary: fc.integer({ min: least, max: most }) },
		{ weight: 1, arbitrary: pick(least - 1, most + 1, least + 0.5) },
	);
const many = number(1, 10_000);
const group = fc.record(
	{
		size: pick<number | string>(1, 10_000, "1%", "100%"),
		concurrency: many,
		errorThreshold: fc.record({ count: many, percent: number(1, 100), minExecuted: many }, optional("count")),
		approval: fc.boolean(),
		soakSeconds: number(0, 86_400),
	},
	optional("size"),
);
const plan = fc.record(
	{
		firmware: pick<object>(
			{ version: newVersion },
			{ channel: "beta" },
			{ version: newVersion, channel: "beta" },
		),
		target: pick<object>({ model: "DEV-1", tags: "not (a or b)" }, { all: true }, { devices: ["dev-1-0"] }),
		standing: fc.boolean(),
		groups: fc
			.array(group, { minLength: 1, maxLength: 3 })
			.map((list) =>
				list.map((planned, at) => (at === list.length - 1 ? { ...planned, size: "rest" } : planned)),
			),
		maxAttempts: number(1, 10),
		allowDowngrade: fc.boolean(),
		startsAt: isoTime,
		deadline: isoTime,
		window: fc.record(
			{
				from: pick("22:00", "00:00"),
				to: pick("05:30", "23:59"),
				timeZone: pick("Europe/Berlin", "UTC", "+01:00", "Etc/Unknown"),
				days: fc.subarray([...days], { minLength: 1 }),
			},
			optional("from", "to"),
		),
	},
	optional("firmware", "target"),
);
/** Milliseconds since 1970, of a possibly wrong clock. */
const clock = fc.oneof(
	{ weight: 4, arbitrary: fc.constant(startedAt) },
	fc.integer({ min: -8.64e15, max: 8.64e15 }),
	pick(0, Date.parse("1938-01-01"), Date.parse("9999-12-20"), 8.64e15),
);

function optional<T extends string>(...requiredKeys: T[]): { requiredKeys: T[] } {
	return { requiredKeys };
}

/** Fewer plans may contain too few accepted ones. */
const tried = Math.max(runs(400), 200);

test("loads each accepted plan, at any clock", async (t) => {
	const { gateway, time, problems, dataDir, addDevice } = await run(t);
	addDevice("fine", newVersion);
	const onProblem = (problem: string) => void problems.push(problem);
	let accepted = 0;
	await fc.assert(
		fc.asyncProperty(plan, clock, async (drawn: object, now) => {
			time.skewMs = now - startedAt;
			try {
				await gateway.rollouts.put("x", JSON.parse(JSON.stringify(drawn)));
			} catch (error) {
				if (!(error instanceof RequestError)) throw error;
				assert.equal(error.rejection.status, 422, error.rejection.detail);
				return;
			}
			accepted += 1;
			const store = new RolloutStore({ onProblem });
			await fs.cp(join(dataDir, "rollouts"), join(dataDir, "copy"), { recursive: true });
			await store.open(new FileLog({ directory: join(dataDir, "copy"), disk: fs, onProblem }));
			await fs.rm(join(dataDir, "copy"), { recursive: true });
			const loaded = store.list();
			const created = gateway.rollouts.find("x");
			await gateway.rollouts.execute("x", "cancel", undefined).catch(() => {});
			await gateway.rollouts.remove("x");
			assert.deepEqual(problems.splice(0), []);
			assert.deepEqual(loaded, [created]);
		}),
		{
			numRuns: tried,
			examples: [[{ ...smallest, startsAt: "9999-12-31T00:00Z" }, startedAt]],
		},
	);
	assert.ok(accepted > tried / 50, `${accepted} plans were accepted`);
});
