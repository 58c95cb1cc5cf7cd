/** Compares the latency of a small fleet's reports while clients misbehave with its latency while nothing else goes on. */

import { setTimeout } from "node:timers/promises";
import { alternate, pick } from "./rounds.js";
import { compare, measure, type Row } from "./row.js";
import type { Load, Side } from "./sides.js";

/** Long enough that its slowest hundredth is more than one collection of garbage. */
export const usualLoad: Load = { count: 10_000, perSecond: 1000 };
/** For what a disturbance leaves behind, such as connections that are still being closed. */
export const settleMs = 1500;

/** What goes on while the others are measured; `begin` returns what ends it. */
export interface Disturbance {
	readonly what: string;
	/** What the others send meanwhile; left out: `usualLoad`. */
	readonly during?: Load;
	begin(): Promise<() => Promise<unknown>>;
}

/** @returns rows that hold the others' latency beside that of a quiet gateway */
export async function compareWithQuiet(
	side: Side,
	benchmark: string,
	{ what, during = usualLoad, begin }: Disturbance,
): Promise<Row[]> {
	const disturbed = async () => {
		const end = await begin();
		const relayed = await side.relay(during);
		await end();
		await setTimeout(settleMs);
		return relayed;
	};
	// A gateway has run for days when it is disturbed: what it then does has been compiled long since.
	await disturbed();
	const rounds = await alternate(disturbed, () => side.relay(during));
	return [
		compare(
			{
				benchmark,
				what: `${what}: the others' latency p99, beside a quiet gateway`,
				unit: "µs",
				target: { of: "ratio", atMost: 2 },
			},
			pick(rounds, ({ p99Micros }) => p99Micros),
		),
		compare(
			{ benchmark, what: `${what}: the others' longest latency, beside a quiet gateway`, unit: "µs" },
			pick(rounds, ({ longestMicros }) => longestMicros),
		),
		measure(
			{ benchmark, what: `${what}: the others' reports lost`, unit: "", target: { of: "ours", atMost: 0 } },
			[Math.max(...rounds.map((round) => round.ours.lost))],
		),
	];
}
