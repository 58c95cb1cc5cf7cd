/**
 * Injects faults drawn from TEST_SEED into one gateway and 50 devices for half a minute, and checks all invariants
 * throughout. The same seed produces the same faults in the same steps; their timing depends on the computer.
 * TORMENT_MINUTES changes the duration; the round before a release takes 10.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { buildMachine } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Random } from "../support/random.js";
import { seed, seedNote } from "../support/seed.js";
import { actions } from "./actions.js";
import { checkFinalState } from "./final-check.js";
import { Images } from "./images.js";
import { Journal } from "./journal.js";
import { start } from "./restart.js";
import { maxRollOuts } from "./rollouts.js";
import { type Action, drawSchedule } from "./schedule.js";
import { monitorCount, stepMs, World } from "./world.js";

const minutes = Number(process.env.TORMENT_MINUTES || 0.5);
/** Leaves time for the restarts and the final check. */
const stepsAMinute = 90;
const devices = 50;
/** Time after a restart until all clients have reconnected. */
const settleSteps = 12;

test("all invariants hold during minutes of random faults", async (t) => {
	assert.ok(minutes >= 0.5, "TORMENT_MINUTES must be a number, 0.5 or more.");
	t.diagnostic(seedNote);
	const folder = await mkdtemp(join(tmpdir(), "torment-"));
	const journal = new Journal(join(folder, "journal.log"));
	try {
		await torment(folder, journal);
	} catch (error) {
		t.diagnostic(
			`Last steps:\n${journal.lastLines}\nKept: ${folder} (journal.log, gateway.log, data, releases)`,
		);
		throw error;
	}
	t.diagnostic(journal.summary);
	await rm(folder, { recursive: true });
});

/** @throws Error if an invariant is broken */
async function torment(folder: string, journal: Journal): Promise<void> {
	const draw = new Random(seed);
	const steps = Math.round(minutes * stepsAMinute);
	const schedule = drawSchedule(draw.fork("schedule"), { steps, devices, monitors: monitorCount });
	await mkdir(join(folder, "data"), { recursive: true });
	const program = await buildFirmware();
	// Built once, before several devices need it at the same time.
	await buildMachine();
	const world = await World.make(folder, devices, draw, journal, program);
	try {
		const count = (list: readonly Action[], what: string) => list.filter(({ name }) => name === what).length;
		const ofDevices = world.places.map((_, at) => schedule.flat().filter(({ device }) => device === at));
		const releases = Math.max(...ofDevices.map((list) => count(list, "update")));
		const versions = [
			...Array.from({ length: releases }, (_, index) => Images.release(index + 1)),
			...Array.from({ length: maxRollOuts }, (_, index) => Images.rollOut(index + 1)),
		];
		await world.images.release(world.gateway.releasesDir, versions, program.bytes);
		await start(world);
		for (const { device } of world.places) device.powerOn();
		const heapBefore = await play(world, schedule);
		journal.note("final check");
		await checkFinalState(world, heapBefore);
	} finally {
		await world.close();
	}
}

/** @returns bytes in use after the gateway's last start */
async function play(world: World, schedule: readonly (readonly Action[])[]): Promise<number | undefined> {
	const lastRestart = schedule.findLastIndex((drawn) => drawn.some(({ name }) => name === "restart"));
	let heapBefore: number | undefined;
	for (const [step, drawn] of schedule.entries()) {
		for (const action of drawn) {
			world.journal.count(action.name);
			world.journal.note(`step ${step}: ${JSON.stringify(action)}`);
			await actions[action.name]?.[1](world, world.choose(action));
		}
		await pause(stepMs);
		for (const monitor of world.monitors) monitor.look();
		world.start(() => world.rollouts.look());
		if (step === lastRestart + settleSteps) heapBefore = (await world.gateway.inUse())?.heap;
		world.journal.check();
	}
	return heapBefore;
}
