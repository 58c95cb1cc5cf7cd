/**
 * Spreads work over turns of the event loop. When a thousand devices connect at once, other devices' reports are
 * handled in between.
 */

/**
 * @param plan schedules a function; default: the next turn of the event loop
 * @param perTurn how many are resolved in one turn; default: one
 * @returns a function whose promises resolve in order
 */
export function createYield(
	plan: (begin: () => void) => unknown = setImmediate,
	perTurn = 1,
): () => Promise<void> {
	const waiting: (() => void)[] = [];
	const begin = () => {
		for (let count = 0; count < perTurn; count += 1) waiting.shift()?.();
		if (waiting.length > 0) plan(begin);
	};
	return () =>
		new Promise((proceed) => {
			if (waiting.push(proceed) === 1) plan(begin);
		});
}
