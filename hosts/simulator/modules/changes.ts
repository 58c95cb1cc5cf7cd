/** The differences of two reports, for logs that people read. The gateway's page has it too. */

type Change = readonly [path: string, from: unknown, to: unknown];

/** What is new or different, by paths such as `network.wifi_rssi`. @param before undefined: everything is new */
export function changesIn(before: unknown, after: unknown, path = ""): readonly Change[] {
	if (!isObject(after)) return before === after ? [] : [[path, before, after]];
	return Object.entries(after).flatMap(([name, value]) =>
		changesIn(isObject(before) ? before[name] : undefined, value, path ? `${path}.${name}` : name),
	);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null;
}
