/**
 * Remembers for a moment what took asking the disk. A hundred devices that fetch one image block by block would otherwise
 * ask it for the same facts thousands of times a second.
 */

/** So few that what they hold on to does not count beside what is cached anyway. */
const maxEntries = 4;

/**
 * @param maxAgeMs how old an answer may be; 0: none is remembered
 * @param now milliseconds, from any start
 * @returns gives what is remembered under a key, or else what `load` gives; a failure is not remembered
 */
export function createRecent<T>(maxAgeMs: number, now = () => performance.now()) {
	/** The oldest first. */
	const entries = new Map<string, { readonly since: number; readonly value: Promise<T> }>();
	return (key: string, load: () => Promise<T>): Promise<T> => {
		const since = now();
		for (const [name, entry] of entries) if (since - entry.since >= maxAgeMs) entries.delete(name);
		const known = entries.get(key);
		if (known) return known.value;
		const value = load();
		entries.set(key, { since, value });
		value.catch(() => entries.delete(key));
		for (const [name] of entries) if (entries.size > maxEntries) entries.delete(name);
		return value;
	};
}
