/**
 * Spreads work over turns of the event loop, so that reports are handled while a thousand devices connect at once.
 */

/**
 * @param plan schedules a function; default: the next turn of the event loop
 * @param perTurn number of promises resolved in one turn; default: 1
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
