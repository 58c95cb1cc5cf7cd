/**
 * Spreads work over turns of the event loop. When a thousand devices connect at once, other devices' reports are
 * handled in between.
 */

/**
 * @param plan schedules a function; default: the next turn of the event loop
 * @returns a function whose promises resolve in order, one per turn
 */
export function createYield(plan: (begin: () => void) => unknown = setImmediate): () => Promise<void> {
	const waiting: (() => void)[] = [];
	const begin = () => {
		waiting.shift()?.();
		if (waiting.length > 0) plan(begin);
	};
	return () =>
		new Promise((proceed) => {
			if (waiting.push(proceed) === 1) plan(begin);
		});
}
