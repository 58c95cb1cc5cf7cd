/** Sample report of the API documents with changes for tests. */

export { sampleReport } from "../../scripts/api/sample-report.js";

/** Mutable JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Copy with the field at `path`, for example `system.model`, set to `value`, or removed if `value` is undefined. */
export function withField(
	message: Readonly<Record<string, Json>>,
	path: string,
	value: Json | undefined,
): { [name: string]: Json } {
	const [name = "", ...rest] = path.split(".");
	const copy = { ...message };
	const inner = copy[name];
	if (rest.length > 0 && typeof inner === "object" && inner !== null && !Array.isArray(inner))
		copy[name] = withField(inner, rest.join("."), value);
	else if (value === undefined) delete copy[name];
	else copy[name] = value;
	return copy;
}

/** Copy with several fields set or removed like those of `withField`. */
export function withFields(
	message: Readonly<Record<string, Json>>,
	fields: Readonly<Record<string, Json | undefined>>,
): { [name: string]: Json } {
	return Object.entries(fields).reduce((all, [path, value]) => withField(all, path, value), { ...message });
}
