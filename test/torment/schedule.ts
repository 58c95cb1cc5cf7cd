/** Actions of each step, drawn from a seed before anything runs. */

import type { Random } from "../support/random.js";
import { actions } from "./actions.js";

export interface Action {
	readonly name: string;
	/** Numbers of a device and of a monitor. */
	readonly device: number;
	readonly monitor: number;
	/** Seed of its other parameters. */
	readonly seed: number;
}

export interface ScheduleOptions {
	readonly steps: number;
	readonly devices: number;
	readonly monitors: number;
}

/** The last restart is early enough that growth of memory shows after it. */
const restartsUntil = 0.66;
const stepsBetweenRestarts = 18;

export function drawSchedule(random: Random, { steps, devices, monitors }: ScheduleOptions): Action[][] {
	const weights = Object.entries(actions).map(([name, [weight]]) => [weight, name] as const);
	const draw = (name = random.byWeight(weights)): Action => ({
		name,
		device: random.between(0, devices - 1),
		monitor: random.between(0, monitors - 1),
		seed: random.between(0, 2 ** 31),
	});
	let nextRestart = random.between(8, stepsBetweenRestarts);
	return Array.from({ length: steps }, (_, step) => {
		const drawn = Array.from({ length: random.between(2, 5) }, () => draw());
		if (nextRestart >= steps * restartsUntil) return drawn;
		// Data acknowledged while the disk fails, just before a restart, is the most likely to be lost.
		if (step === nextRestart - 2 && random.chance(0.7)) drawn.push(draw("disk"));
		if (step === nextRestart - 1) drawn.push(draw("update"), draw("update"), draw("update"));
		if (step === nextRestart) {
			drawn.push(draw("restart"));
			nextRestart += random.between(stepsBetweenRestarts / 2, stepsBetweenRestarts * 1.5);
		}
		return drawn;
	});
}
