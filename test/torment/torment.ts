/** One run: random faults from a seed, on one gateway and many devices. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildMachine } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Random } from "../support/random.js";
import { Actions } from "./actions.js";
import { checkFinalState } from "./final-check.js";
import { Images } from "./images.js";
import type { Journal } from "./journal.js";
import { restart, start } from "./restart.js";
import { type Action, drawSchedule, stepMs } from "./schedule.js";
import { monitorCount, World } from "./world.js";

export interface TormentOptions {
	readonly seed: number;
	/** At least half a minute. */
	readonly minutes: number;
	/** Folder of this run alone. */
	readonly folder: string;
	readonly journal: Journal;
	readonly devices: number;
}

/** Leaves time for the restarts and the final check. */
const stepsAMinute = 90;
/** Time after a restart until all clients have reconnected. */
const settleSteps = 12;

/** @throws BrokenInvariant */
export async function torment(options: TormentOptions): Promise<void> {
	const { seed, minutes, folder, journal, devices } = options;
	const draw = new Random(seed);
	const steps = Math.round(minutes * stepsAMinute);
	const { schedule, releases, rollOuts } = drawSchedule(draw.fork("schedule"), {
		steps,
		devices,
		monitors: monitorCount,
	});
	await mkdir(join(folder, "data"), { recursive: true });
	const program = await buildFirmware();
	// Built once, before several devices need it at the same time.
	await buildMachine();
	const world = await World.make(folder, devices, draw, journal, program);
	try {
		const named = (count: number, nameOf: (number: number) => string) =>
			Array.from({ length: count }, (_, index) => nameOf(index + 1));
		const versions = [...named(releases, Images.release), ...named(rollOuts, Images.rollOut)];
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
	const actions = new Actions(world);
	const lastRestart = schedule.findLastIndex((drawn) => drawn.some((action) => action.do === "restart"));
	let heapBefore: number | undefined;
	for (const [step, drawn] of schedule.entries()) {
		for (const action of drawn) {
			const { do: what, ...how } = action;
			world.journal.count(what);
			world.journal.note(`step ${step}: ${what} ${JSON.stringify(how)}`);
			if (action.do === "restart") await restart(world, action);
			else await actions.perform(action);
		}
		await pause(stepMs);
		for (const monitor of world.monitors) monitor.look();
		world.start(() => world.rollouts.look());
		if (step === lastRestart + settleSteps) heapBefore = (await world.gateway.inUse())?.heap;
		world.journal.check();
	}
	return heapBefore;
}
