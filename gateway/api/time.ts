/** Stored times: schema, and checks that tolerate a wrong clock. Imported by the page, so without Node. */

import { integer } from "../../device/protocol/schema.js";

/** Range of a Date (ECMA-262, 21.4.1.1). */
const maxTimeMs = 8.64e15;
/** Milliseconds since 1970; negative if the clock was wrong. */
export const time = integer(-maxTimeMs, maxTimeMs);

/** Tolerated difference between clocks of a cluster, or correction of a clock. */
const clockErrorMs = 60_000;

/** Whether a stored past time, in milliseconds since 1970, is in the future: it was stored while the clock was wrong. */
export function isAhead(at: number, now: number): boolean {
	return at > now + clockErrorMs;
}

/**
 * Whether a stored due time, in milliseconds since 1970, is reached. True for a time that is further away than the longest
 * wait, since it was stored while the clock was wrong.
 * @param longestMs longest wait from storing it until it is due
 */
export function isDue(at: number, now: number, longestMs: number): boolean {
	return at <= now || isAhead(at - longestMs, now);
}
