/** Spreads work over turns of the event loop, so that reports are handled while a thousand devices connect at once. */

/**
 * Creates a queue of continuations.
 * @param schedule schedules a function; default: the next turn of the event loop
 * @param perTurn number of promises resolved in one turn; default: 1
 * @returns a function whose promises resolve in order
 */
export function createYield(
	schedule: (run: () => void) => unknown = setImmediate,
	perTurn = 1,
): () => Promise<void> {
	const waiting: (() => void)[] = [];
	const run = () => {
		for (let count = 0; count < perTurn; count += 1) waiting.shift()?.();
		if (waiting.length > 0) schedule(run);
	};
	return () =>
		new Promise((resolve) => {
			if (waiting.push(resolve) === 1) schedule(run);
		});
}
