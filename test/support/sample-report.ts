/** Changes of a report for tests, beside the sample that the API documents have. */

export { sampleReport } from "../../scripts/api/sample-report.js";

/** A mutable JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A copy with the field at `path`, such as `system.model`, set to `value`, or removed where `value` is undefined. */
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
