/** The lines of a message of the live log. */

import type { LogMessage } from "../../../device/protocol/messages.js";

/**
 * A live log begins with lines that the device has kept, of which some may be shown since an earlier one.
 *
 * @returns the lines that are not in `shown` yet, and a line for those that were dropped
 */
export function newLines(
	shown: { readonly last: { readonly text: string } | undefined },
	{ seq, dropped, lines }: Pick<LogMessage, "seq" | "dropped" | "lines">,
): readonly string[] {
	const all = lines.split("\n").slice(0, -1);
	const last = shown.last?.text;
	const known = seq === 0 && last !== undefined ? all.lastIndexOf(last) + 1 : 0;
	const note = dropped === 0 ? [] : [`(${dropped} lines did not fit)`];
	return [...note, ...all.slice(known)];
}
