/** Messages taken apart, for tests. */

/** A JSON value that a test may alter anywhere. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** The message with the field at `path` (names joined by dots) set to `value`, or taken out where it is undefined. */
export function altered(
	message: Readonly<Record<string, Json>>,
	path: string,
	value: Json | undefined,
): { [name: string]: Json } {
	const [name = "", ...rest] = path.split(".");
	const copy = { ...message };
	const inner = copy[name];
	if (rest.length > 0 && typeof inner === "object" && inner !== null && !Array.isArray(inner))
		copy[name] = altered(inner, rest.join("."), value);
	else if (value === undefined) delete copy[name];
	else copy[name] = value;
	return copy;
}
