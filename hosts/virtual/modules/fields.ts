/** Reads what Node answered: Channel hands it over as `unknown`. */

/** @throws TypeError where `detail` has no string of that name */
export function textField(detail: unknown, name: string): string {
	const value = field(detail, name);
	if (typeof value !== "string") throw new TypeError(`${name} must be a string`);
	return value;
}

/** @throws TypeError where `detail` has no number of that name */
export function numberField(detail: unknown, name: string): number {
	const value = field(detail, name);
	if (typeof value !== "number") throw new TypeError(`${name} must be a number`);
	return value;
}

/** The number of that name, if there is one. */
export function optionalNumberField(detail: unknown, name: string): number | undefined {
	const value = field(detail, name);
	return typeof value === "number" ? value : undefined;
}

function field(detail: unknown, name: string): unknown {
	if (typeof detail !== "object" || detail === null) return undefined;
	return Object.getOwnPropertyDescriptor(detail, name)?.value;
}
