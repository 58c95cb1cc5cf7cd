/**
 * Rollout of 1,000 devices in three groups, also with a gateway killed fifty times at random steps of its disk,
 * and with a clock set back by up to an hour and corrected, at and between kills. TEST_SEED selects the steps.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Counts, countsOf, noCounts } from "../../../gateway/api/rollout.js";
import { holdsSlot } from "../../../gateway/rollouts/device-step.js";
import { isActive } from "../../../gateway/rollouts/machine.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { Random } from "../../support/random.js";
import { seed, seedNote } from "../../support/seed.js";
import {
	type Fate,
	newVersion,
	SimulatedDevice,
	SimulatedGateway,
	startedAt,
	Timeline,
} from "./simulated-fleet.js";

const total = 1000;
const maxAttempts = 3;
const deadlineMs = 2 * 3_600_000;
const groups = [
	{ size: 20, concurrency: 5, errorThreshold: { count: 20 } },
	{ size: "20%", concurrency: 40, errorThreshold: { percent: 100, minExecuted: 1000 } },
	{ size: "rest", concurrency: 150, errorThreshold: { percent: 100, minExecuted: 1000 } },
];
const shares: readonly (readonly [number, Fate])[] = [
	[80, "fine"],
	[10, "restarts once"],
	[4, "never succeeds"],
	[3, "goes back"],
	[3, "is silent"],
];
const endOf: Readonly<Record<Fate, keyof Counts>> = {
	fine: "succeeded",
	"restarts once": "succeeded",
	"never succeeds": "failed",
	"goes back": "rolled_back",
	"is silent": "timed_out",
};

/** @param kills number of kills of the gateway @param isClockWrong whether its clock is set back and corrected */
async function run(t: TestContext, kills: number, isClockWrong: boolean) {
	const draw = new Random(seed);
	const [fleetDraw, killDraw, clockDraw] = [draw.fork("fleet"), draw.fork("kills"), draw.fork("clock")];
	const dataDir = await temporaryDirectory(t);
	const time = new Timeline();
	const problems: string[] = [];
	const expected: Record<keyof Counts, number> = { ...noCounts };
	const devices = Array.from({ length: total }, (_, index) => {
		const id = `dev-1-${String(index).padStart(6, "0")}`;
		const fate = fleetDraw.byWeight(shares);
		const version = fleetDraw.byWeight([
			[95, "1.0.0"],
			[3, newVersion],
			[2, "3.0.0"],
		]);
		const isAway = fleetDraw.chance(0.1);
		const device = new SimulatedDevice(time, id, fate, version, true);
		if (index % 3 > 0) device.features = ["delta"];
		let end = endOf[fate];
		if (version === newVersion) end = "already_installed";
		else if (isAway && index % 2 === 0) end = "timed_out";
		else if (version === "3.0.0") end = "rejected";
		expected[end] += 1;
		return {
			device,
			end,
			isAway,
			returnsAt: isAway && index % 2 === 1 ? fleetDraw.between(60, 3600) * 1000 : undefined,
		};
	});

	let steps = 0;
	let dieAt = Number.POSITIVE_INFINITY;
	let killed = 0;
	const options = { dataDir, time, random: draw, problems, onDisk: () => ++steps >= dieAt };
	const start = async (previous?: SimulatedGateway): Promise<SimulatedGateway> => {
		const gateway = new SimulatedGateway(options);
		await gateway.open().catch(() => {});
		if (previous) previous.next = gateway;
		return gateway;
	};
	let gateway = await start();
	for (const { device } of devices) device.connect(gateway);
	await gateway.settle();
	for (const { device, isAway, returnsAt } of devices) {
		if (!isAway) continue;
		device.leave();
		if (returnsAt !== undefined) time.in(returnsAt, () => device.turnOn(gateway));
	}
	const asked = {
		firmware: { version: newVersion },
		target: { model: "DEV-1" },
		groups,
		maxAttempts,
		deadline: new Date(startedAt + deadlineMs).toISOString(),
	};
	const { isNew } = await gateway.rollouts.put("autumn", asked);
	assert.equal(isNew, true);

	/** About 25 disk steps per device. */
	const nextDeath = () => steps + killDraw.between(1, Math.floor((total * 25) / Math.max(1, kills)));
	if (kills > 0) dieAt = nextDeath();
	let most = 0;
	let isIdle = false;
	for (;;) {
		await gateway.pass(isIdle ? 10_000 : 1000);
		if (isClockWrong && (!gateway.isRunning || clockDraw.chance(0.02)))
			time.skewMs = clockDraw.chance(0.5) ? 0 : -clockDraw.between(0, 3_600_000);
		if (!gateway.isRunning) {
			killed += 1;
			dieAt = killed < kills ? nextDeath() : Number.POSITIVE_INFINITY;
			await gateway.settle();
			gateway = await start(gateway);
			const current = gateway;
			// Random delay of at least 1 s, as in the firmware.
			for (const { device } of devices) time.in(fleetDraw.between(500, 8000), () => device.connect(current));
			continue;
		}
		const rollout = gateway.rollouts.find("autumn");
		const steps_ = [...rollout.devices.values()];
		const limit = groups[rollout.head.group]?.concurrency ?? 0;
		const held = steps_.filter(holdsSlot).length;
		const updating = devices.filter(({ device }) => device.isUpdating).length;
		most = Math.max(most, held);
		isIdle = held === 0;
		assert.ok(held <= limit, `${held} slots of ${limit} are held`);
		// A silent device keeps trying, but holds no slot.
		assert.ok(updating <= limit + expected.timed_out, `${updating} devices update, at most ${limit}`);
		const counts = countsOf(steps_);
		assert.equal(
			Object.values(counts).reduce((sum, count) => sum + count, 0),
			total,
		);
		if (!isActive(rollout)) break;
		assert.ok(time.now < deadlineMs + 2 * 3_600_000, JSON.stringify(counts));
	}
	const rollout = gateway.rollouts.find("autumn");
	for (const { device } of devices)
		assert.ok(device.offers <= maxAttempts, `${device.id} was offered it ${device.offers} times`);
	const ends = new Map([...rollout.devices.values()].map((step) => [step.deviceId, step]));
	for (const { device, end } of devices) {
		const step = ends.get(device.id);
		// A kill between storing an offer and sending it costs that attempt, so an update may end before its fate.
		const isGivenUp = step?.status === "failed" || step?.status === "timed_out";
		if (kills > 0 && isGivenUp && step.attempts === maxAttempts && device.offers < maxAttempts) {
			expected[end] -= 1;
			expected[step.status] += 1;
		}
		const isDone = step?.status === "succeeded" || step?.status === "already_installed";
		assert.equal(
			device.version === newVersion,
			isDone,
			`${device.id} runs ${device.version}: ${step?.status}`,
		);
	}
	t.diagnostic(`${killed} kills, ${most} slots at most, ${steps} steps of the disk, ${time.now / 1000} s`);
	return { counts: countsOf(rollout.devices.values()), expected, rollout, problems, killed };
}

for (const [kills, isClockWrong] of [
	[0, false],
	[50, false],
	[50, true],
] as const)
	test(`completes a rollout of ${total} devices with ${kills} kills of the gateway${isClockWrong ? ", whose clock is set back" : ""}`, async (t) => {
		t.diagnostic(seedNote);
		t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
		const { counts, expected, rollout, problems, killed } = await run(t, kills, isClockWrong);
		assert.equal(killed, kills);
		assert.equal(rollout.head.status, "finished");
		assert.deepEqual(counts, expected);
		assert.deepEqual(
			problems.filter((problem) => !problem.includes("damaged lines")),
			[],
		);
	});
