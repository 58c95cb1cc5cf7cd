import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { planRequest } from "../../../gateway/api/rollout.js";
import { RequestError } from "../../../gateway/problem.js";
import { RolloutStore } from "../../../gateway/rollouts/store.js";
import { FileLog } from "../../../gateway/storage/file-log.js";
import { valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";
import { run, smallest } from "./run.js";
import { newVersion, startedAt } from "./simulated-fleet.js";

const pick = fc.constantFrom;
const firmware = pick<object>(
	{ version: newVersion },
	{ channel: "beta" },
	{ version: newVersion, channel: "beta" },
);
const target = pick<object>(
	{ model: "DEV-1", tags: "not (a or b)" },
	{ all: true },
	{ devices: ["dev-1-0"] },
);
const zone = pick("Europe/Berlin", "UTC", "+01:00", "Etc/Unknown");
const isoTime = pick(
	...["0000-02-29T00:00Z", "1969-12-31T23:59:59.99999Z", "1970-01-01T00:00:00+23:59", "2026-02-29T24:00Z"],
	...["9999-12-02T00:00Z", "9999-12-31T23:59:59.999-23:59", undefined, undefined, undefined],
);
/** Requests that match the schema. Most have a known target, real times and a correct last group. */
const plan = fc
	.tuple(valid(planRequest), fc.record({ firmware, target, startsAt: isoTime, deadline: isoTime }), zone)
	.map(([drawn, fields, timeZone]) => {
		const { groups, window, ...rest } = Object(drawn);
		return {
			...rest,
			...fields,
			...(groups && { groups: [...groups.slice(0, 2), { size: "rest" }] }),
			...(window && { window: { ...window, timeZone } }),
		};
	});
/** Milliseconds since 1970, of a possibly wrong clock. */
const clock = fc.oneof(
	{ weight: 4, arbitrary: fc.constant(startedAt) },
	fc.integer({ min: Date.parse("0001-01-10"), max: Date.parse("9999-12-20") }),
	pick(0, Date.parse("1938-01-01")),
);

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
