/**
 * Remembers for a moment what took asking the disk. A hundred devices that fetch one image block by block would otherwise
 * ask it for the same facts thousands of times a second.
 */

export interface RecentOptions {
	/** How old an answer may be, in milliseconds; 0: none is remembered. */
	readonly maxAgeMs: number;
	/** Milliseconds, from any start. */
	readonly now: () => number;
}

/** So few that what they hold on to does not count beside what is cached anyway. */
const maxEntries = 4;

/** @returns gives what is remembered under a key, or else what `load` gives; a failure is not remembered */
export function createRecent<T>({ maxAgeMs, now }: RecentOptions) {
	/** The oldest first. */
	const entries = new Map<string, { readonly since: number; readonly value: Promise<T> }>();
	return (key: string, load: () => Promise<T>): Promise<T> => {
		const since = now();
		for (const [name, entry] of entries) if (since - entry.since >= maxAgeMs) entries.delete(name);
		const value = entries.get(key)?.value ?? load();
		if (entries.has(key)) return value;
		entries.set(key, { since, value });
		value.catch(() => entries.delete(key));
		for (const [name] of entries) if (entries.size > maxEntries) entries.delete(name);
		return value;
	};
}
