/** Actions of each step, drawn from a seed before anything runs. */

import type { LinkFault } from "../support/faulty-link.js";
import type { Random } from "../support/random.js";
import type { DiskFault } from "./failing-disk.js";

export const stepMs = 500;

export type Damage = "cut short" | "emptied" | "zeroed" | "a bit flipped";
/** File damaged while the gateway is down: the record of a device or of its updates, or the upload. */
export interface Damaged {
	readonly what: "devices" | "updates" | "upload";
	readonly device: number;
	readonly how: Damage;
	/** Position of the damage, 0 to 1. */
	readonly at: number;
}

/** Action on devices and monitors by number; durations in steps, times in ms. */
export type Action =
	| {
			readonly do: "restart";
			readonly how: "kill" | "stop";
			readonly away: number;
			readonly damaged?: Damaged;
	  }
	| { readonly do: "freeze"; readonly steps: number }
	| { readonly do: "disk"; readonly fault: DiskFault; readonly steps: number }
	| { readonly do: "clock"; readonly byMs: number }
	/** Devices from `first` on; then the clock is set back. */
	| {
			readonly do: "roll out";
			readonly number: number;
			readonly first: number;
			readonly devices: number;
			readonly backMs: number;
	  }
	/** Timers of the gateway are late. */
	| { readonly do: "load"; readonly steps: number }
	| { readonly do: "few files"; readonly spare: number; readonly steps: number }
	| { readonly do: "line"; readonly device: number; readonly fault: LinkFault; readonly steps: number }
	| { readonly do: "cut"; readonly device: number }
	| { readonly do: "cut all" }
	| { readonly do: "power"; readonly device: number; readonly steps: number }
	| { readonly do: "second connection"; readonly device: number }
	| { readonly do: "flood"; readonly device: number; readonly frames: number }
	| { readonly do: "control"; readonly monitor: number; readonly device: number; readonly kind: number }
	| { readonly do: "update"; readonly monitor: number; readonly device: number; readonly version: string }
	| { readonly do: "boot"; readonly monitor: number; readonly device: number }
	| { readonly do: "upload"; readonly isForPrototype: boolean; readonly isDamaged: boolean }
	| { readonly do: "forget"; readonly device: number; readonly steps: number }
	| { readonly do: "stop reading"; readonly monitor: number; readonly steps: number }
	| { readonly do: "drop monitor"; readonly monitor: number };

export interface ScheduleOptions {
	readonly steps: number;
	readonly devices: number;
	readonly monitors: number;
}

/** The last restart is early enough that growth of memory shows after it. */
const restartsUntil = 0.66;
const stepsBetweenRestarts = 18;
const hourMs = 3_600_000;
/** Rollouts that the gateway keeps, 20. */
const rollOutsAtMost = 18;

/** @returns the actions of each step, and the numbers of releases and rollouts in them */
export function drawSchedule(draw: Random, options: ScheduleOptions) {
	const { steps, devices, monitors } = options;
	const device = () => draw.between(0, devices - 1);
	const monitor = () => draw.between(0, monitors - 1);
	/** Requested updates by device. */
	const updates = new Map<number, number>();
	let releases = 0;
	const update = (): Action => {
		const of = device();
		const number = (updates.get(of) ?? 0) + 1;
		if (draw.chance(0.2)) return { do: "update", monitor: monitor(), device: of, version: "custom" };
		updates.set(of, number);
		releases = Math.max(releases, number);
		return { do: "update", monitor: monitor(), device: of, version: String(number) };
	};
	let rollOuts = 0;
	const rollOut = (): Action => {
		// All of them are kept.
		if (rollOuts === rollOutsAtMost) return { do: "cut", device: device() };
		rollOuts += 1;
		const backMs = draw.of([0, 0.01, 1, 24 * 400]) * hourMs;
		return { do: "roll out", number: rollOuts, first: device(), devices: 8, backMs };
	};
	const line = (): Action => {
		const fault = draw.of<LinkFault>(["stalled", "upstream lost", "downstream lost", "torn", "slow"]);
		return { do: "line", device: device(), fault, steps: draw.between(2, 20) };
	};
	const upload = (): Action => ({
		do: "upload",
		isForPrototype: draw.chance(0.3),
		isDamaged: draw.chance(0.15),
	});
	const actions: readonly (readonly [number, () => Action])[] = [
		[30, () => ({ do: "control", monitor: monitor(), device: device(), kind: draw.between(0, 5) })],
		[24, update],
		[6, upload],
		[2, () => ({ do: "boot", monitor: monitor(), device: device() })],
		[4, () => ({ do: "forget", device: device(), steps: draw.between(2, 8) })],
		[6, line],
		[6, () => ({ do: "cut", device: device() })],
		[0.5, () => ({ do: "cut all" })],
		[5, () => ({ do: "power", device: device(), steps: draw.between(1, 10) })],
		[2, () => ({ do: "second connection", device: device() })],
		[1, () => ({ do: "flood", device: device(), frames: draw.between(150, 400) })],
		[2, () => ({ do: "clock", byMs: draw.of([-1, 1]) * draw.of([0.01, 1, 30, 24 * 400]) * hourMs })],
		[1.5, rollOut],
		// Longer than the timeout of a device for a frame.
		[0.7, () => ({ do: "load", steps: draw.between(16, 20) })],
		[3, () => ({ do: "disk", fault: drawDiskFault(draw), steps: draw.between(2, 10) })],
		[0.7, () => ({ do: "few files", spare: draw.between(0, 5), steps: draw.between(2, 5) })],
		[0.7, () => ({ do: "freeze", steps: draw.between(1, 4) })],
		[1.5, () => ({ do: "stop reading", monitor: monitor(), steps: draw.between(2, 12) })],
		[2, () => ({ do: "drop monitor", monitor: monitor() })],
	];
	const schedule: Action[][] = [];
	let nextRestart = draw.between(8, stepsBetweenRestarts);
	for (let step = 0; step < steps; step += 1) {
		const drawn = Array.from({ length: draw.between(2, 5) }, () => draw.byWeight(actions)());
		const isRestarted = nextRestart < steps * restartsUntil;
		// Data acknowledged while the disk fails, just before a restart, is the most likely to be lost.
		if (isRestarted && step === nextRestart - 2 && draw.chance(0.7))
			drawn.push({ do: "disk", fault: drawDiskFault(draw), steps: 6 });
		if (isRestarted && step === nextRestart - 1) drawn.push(update(), update(), update());
		if (isRestarted && step === nextRestart) {
			drawn.push(drawRestart(draw, device));
			nextRestart += draw.between(stepsBetweenRestarts / 2, stepsBetweenRestarts * 1.5);
		}
		schedule.push(drawn);
	}
	return { schedule, releases, rollOuts };
}

function drawDiskFault(draw: Random): DiskFault {
	return {
		kind: draw.of(["full", "read-only", "too many files", "broken", "slow", "slow"]),
		every: draw.between(1, 3),
		delayMs: draw.between(20, 400),
	};
}

function drawRestart(draw: Random, device: () => number): Action {
	const how = draw.chance(0.75) ? "kill" : "stop";
	const away = draw.between(0, 6);
	if (draw.chance(0.4)) return { do: "restart", how, away };
	const damaged: Damaged = {
		what: draw.byWeight([
			[4, "devices"],
			[4, "updates"],
			[1, "upload"],
		]),
		device: device(),
		how: draw.of(["cut short", "emptied", "zeroed", "a bit flipped"]),
		at: draw.next(),
	};
	return { do: "restart", how, away, damaged };
}
