import { setTimeout } from "node:timers/promises";

/** For what takes seconds at most, on a computer that has other things to do. */
const patienceMs = 60_000;

/** Resolves with what is read once it is as meant. @throws after `limitMs` with what was read last */
export async function eventually<T>(
	read: () => T | Promise<T>,
	isMeant: (value: T) => boolean,
	limitMs = patienceMs,
): Promise<T> {
	const until = performance.now() + limitMs;
	for (;;) {
		let last: unknown;
		try {
			const value = await read();
			if (isMeant(value)) return value;
			last = value;
		} catch (error) {
			last = String(error);
		}
		if (performance.now() > until) throw new Error(`not in ${limitMs} ms: ${JSON.stringify(last)}`);
		await setTimeout(100);
	}
}
