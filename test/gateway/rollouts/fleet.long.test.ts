/**
 * Rollout of 300 devices in three groups, also with a gateway killed fifty times at random steps of its disk,
 * and with a clock set back by up to an hour and corrected, at and between kills. TEST_SEED selects the steps.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Counts, countsOf, noCounts } from "../../../gateway/api/rollout.js";
import { isOneOf } from "../../../gateway/api/statuses.js";
import { holdsSlot } from "../../../gateway/rollouts/device-step.js";
import { isActive } from "../../../gateway/rollouts/machine.js";
import { Random } from "../../support/random.js";
import { seed, seedNote } from "../../support/seed.js";
import { at, minute, run, second, smallest } from "./run.js";
import { type Fate, newVersion } from "./simulated-fleet.js";

const total = 300;
const maxAttempts = 3;
const deadlineMs = 60 * minute;
const all = { percent: 100, minExecuted: total };
const groups = [
	{ size: 20, concurrency: 5, errorThreshold: { count: 20 } },
	{ size: "20%", concurrency: 30, errorThreshold: all },
	{ size: "rest", concurrency: 90, errorThreshold: all },
];
const shares: readonly (readonly [number, Fate])[] = [
	[80, "fine"],
	[10, "restarts once"],
	[4, "never succeeds"],
	[3, "goes back"],
	[3, "is silent"],
];
const versions = [
	[95, "1.0.0"],
	[3, newVersion],
	[2, "3.0.0"],
] as const;
const endOf: Readonly<Record<Fate, keyof Counts>> = {
	fine: "succeeded",
	"restarts once": "succeeded",
	"never succeeds": "failed",
	"goes back": "rolled_back",
	"is silent": "timed_out",
};

/** @param kills number of kills of the gateway @param isClockWrong whether its clock is set back and corrected */
async function complete(t: TestContext, kills: number, isClockWrong: boolean) {
	const draw = new Random(seed);
	const [fleetDraw, killDraw, clockDraw] = [draw.fork("fleet"), draw.fork("kills"), draw.fork("clock")];
	const { gateway, devices, disk, time, problems, addDevice, headOf, restart } = await run(t);
	const expected: Record<keyof Counts, number> = { ...noCounts };
	const ends = new Map<string, keyof Counts>();
	for (let index = 0; index < total; index += 1) {
		const [fate, version] = [fleetDraw.byWeight(shares), fleetDraw.byWeight(versions)];
		const device = addDevice(fate, version);
		const isAway = fleetDraw.chance(0.1);
		const isLost = isAway && index % 2 === 0;
		if (isAway) device.leave();
		if (isAway && !isLost) time.in(fleetDraw.between(60, 1200) * second, () => device.turnOn(gateway));
		let end = endOf[fate];
		if (version === newVersion) end = "already_installed";
		else if (isLost) end = "timed_out";
		else if (version !== "1.0.0") end = "rejected";
		expected[end] += 1;
		ends.set(device.id, end);
	}
	await gateway.settle();
	await gateway.rollouts.put("x", { ...smallest, groups, maxAttempts, deadline: at(deadlineMs) });

	/** About 25 disk steps per device. */
	const nextDeath = () => disk.steps + killDraw.between(1, Math.floor((total * 25) / Math.max(1, kills)));
	if (kills > 0) disk.dieAt = nextDeath();
	const stepsOf = () => [...gateway.latest.rollouts.find("x").devices.values()];
	let [killed, most, passMs] = [0, 0, second];
	while (isActive(gateway.latest.rollouts.find("x"))) {
		await gateway.latest.pass(passMs);
		if (isClockWrong && (!gateway.latest.isRunning || clockDraw.chance(0.02)))
			time.skewMs = clockDraw.chance(0.5) ? 0 : -clockDraw.between(0, 60 * minute);
		if (!gateway.latest.isRunning) {
			killed += 1;
			disk.dieAt = killed < kills ? nextDeath() : Number.POSITIVE_INFINITY;
			// Random delay of at least 1 s, as in the firmware.
			await restart(0, (connect) => time.in(fleetDraw.between(500, 8000), connect));
			continue;
		}
		const limit = groups[headOf().group]?.concurrency ?? 0;
		const held = stepsOf().filter(holdsSlot);
		const updating = devices.filter((device) => device.isUpdating).length;
		most = Math.max(most, held.length);
		passMs = held.every(({ status }) => status === "soaking") ? 10 * second : second;
		assert.ok(held.length <= limit, `${held.length} slots of ${limit} are held`);
		// A silent device keeps trying, but holds no slot.
		assert.ok(updating <= limit + expected.timed_out, `${updating} devices update, at most ${limit}`);
		assert.equal(stepsOf().length, total);
		assert.ok(time.now < deadlineMs + 120 * minute, JSON.stringify(countsOf(stepsOf())));
	}
	for (const { deviceId, status, attempts } of stepsOf()) {
		const device = devices.find(({ id }) => id === deviceId) ?? assert.fail(`${deviceId} is unknown`);
		assert.ok(device.offers <= maxAttempts, `${deviceId} was offered it ${device.offers} times`);
		// A kill between storing an offer and sending it costs that attempt, so an update may end before its fate.
		const isGivenUp = kills > 0 && isOneOf(["failed", "timed_out"], status);
		if (isGivenUp && attempts === maxAttempts && device.offers < maxAttempts) {
			expected[ends.get(deviceId) ?? status] -= 1;
			expected[status] += 1;
		}
		const isDone = isOneOf(["succeeded", "already_installed"], status);
		assert.equal(device.version === newVersion, isDone, `${deviceId} runs ${device.version}: ${status}`);
	}
	t.diagnostic(
		`${killed} kills, ${most} slots at most, ${disk.steps} steps of the disk, ${time.now / 1000} s`,
	);
	const lost = problems.filter((problem) => !problem.includes("damaged lines"));
	assert.deepEqual([killed, headOf().status, lost], [kills, "finished", []]);
	assert.deepEqual(countsOf(stepsOf()), expected);
}

for (const [kills, isClockWrong] of [
	[0, false],
	[50, false],
	[50, true],
] as const)
	test(`completes a rollout of ${total} devices with ${kills} kills of the gateway${isClockWrong ? ", whose clock is set back" : ""}`, async (t) => {
		t.diagnostic(seedNote);
		await complete(t, kills, isClockWrong);
	});
