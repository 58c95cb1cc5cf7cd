/** Common part of the benchmarks: rounds in which the two sides alternate, and the rows that compare them. */

import { readFileSync } from "node:fs";

/** BENCH_ROUNDS; a useful median needs 5 or more. */
export const roundCount = Math.max(1, Number(process.env.BENCH_ROUNDS) || 5);

/** Targets: maximum of our figure, or of its ratio to that of the reference. */
interface Targets {
	readonly max?: number | undefined;
	readonly maxRatio?: number | undefined;
}

/** Our figure and that of a reference in the same run: a figure alone would say more about the machine. */
export interface Row extends Targets {
	readonly what: string;
	readonly unit: string;
	/** Median over the rounds, as `reference`; the highest of a count that must be 0. */
	readonly ours: number;
	readonly reference?: number;
	/** Median of the rounds' ratios: a change of the machine's load affects both sides of a round. */
	readonly ratio?: number;
}

export interface Figure<T> extends Targets {
	readonly what: string;
	readonly unit: string;
	readonly of: (result: T) => number;
}

/** Work of both sides. */
export interface Sides<T> {
	readonly ours: () => Promise<T>;
	/** Default: none. */
	readonly reference?: () => Promise<T>;
}

/** Alternates the sides, and also the one that starts. @param what prefix of the figures' names */
export async function compare<T>(
	what: string,
	sides: Sides<T>,
	figures: readonly Figure<T>[],
	rounds = roundCount,
): Promise<readonly Row[]> {
	const ours: T[] = [];
	const reference: T[] = [];
	for (let round = 0; round < rounds; round++) {
		if (round % 2 === 1 && sides.reference) reference.push(await sides.reference());
		ours.push(await sides.ours());
		if (round % 2 === 0 && sides.reference) reference.push(await sides.reference());
	}
	return figures.map(({ what: name, of, ...figure }) => {
		const [values, others] = [ours.map(of), reference.map(of)];
		const ratios = values.map((value, round) => value / (others[round] ?? Number.NaN));
		return {
			...row(`${what}: ${name}`, values, figure),
			...(sides.reference &&
				figure.max === undefined && { reference: median(others), ratio: median(ratios) }),
		};
	});
}

/** Row without a reference. */
export function row(
	what: string,
	values: number | readonly number[],
	{ unit, ...targets }: Targets & { readonly unit: string },
): Row {
	return { what, unit, ours: percentile([values].flat(), targets.max === 0 ? 100 : 50), ...targets };
}

export function median(values: readonly number[]): number {
	return percentile(values, 50);
}

/** @param rank 0 to 100 */
export function percentile(values: readonly number[], rank: number): number {
	const sorted = Float64Array.from(values).sort();
	const index = Math.ceil((rank / 100) * sorted.length) - 1;
	return sorted[Math.max(0, index)] ?? Number.NaN;
}

/** undefined: no target. */
export function isMet({ max, maxRatio, ratio = Number.POSITIVE_INFINITY, ours }: Row): boolean | undefined {
	if (maxRatio !== undefined) return ratio <= maxRatio;
	return max === undefined ? undefined : ours <= max;
}

/** Server whose processor time is measured. */
export interface Measured {
	/** Processor time so far, in microseconds. */
	cpuMicros(): number | Promise<number>;
}

/** Duration of an action, and the server's processor time for it, in ms. */
export async function cost<T>(server: Measured, action: () => Promise<T>) {
	const [before, began] = [await server.cpuMicros(), performance.now()];
	const result = await action();
	const milliseconds = performance.now() - began;
	return { milliseconds, cpuMilliseconds: ((await server.cpuMicros()) - before) / 1000, result };
}

/** Maximum number of sockets of one process. Node raises its own limit to the hard limit (`ulimit -Hn`). */
export function maxSockets(): number {
	const otherFiles = 200;
	try {
		const [, limit] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return Number(limit) - otherFiles || 10_000;
	} catch {
		return 10_000;
	}
}
