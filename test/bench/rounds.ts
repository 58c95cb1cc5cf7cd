/** Rounds of a comparison. The two sides alternate, and so does the one that starts. */

import type { Round } from "./row.js";

/** BENCH_ROUNDS; a useful median needs 5 or more. */
export const roundCount = Math.max(1, Number(process.env.BENCH_ROUNDS) || 5);

/** Results of both sides. */
export interface Sides<T> {
	readonly ours: T;
	readonly reference: T;
}

export async function alternate<T>(
	ours: () => Promise<T>,
	reference: () => Promise<T>,
	rounds = roundCount,
): Promise<readonly Sides<T>[]> {
	const results: Sides<T>[] = [];
	for (let round = 0; round < rounds; round++) {
		if (round % 2 === 0) {
			const first = await ours();
			results.push({ ours: first, reference: await reference() });
		} else {
			const first = await reference();
			results.push({ ours: await ours(), reference: first });
		}
	}
	return results;
}

/** One figure of each round. */
export function pick<T>(rounds: readonly Sides<T>[], figureOf: (side: T) => number): readonly Round[] {
	return rounds.map(({ ours, reference }) => ({ ours: figureOf(ours), reference: figureOf(reference) }));
}
