/** Stored times: their schema, and what they mean after the clock was wrong. The page can import it without the gateway's files. */

import { integer } from "../../device/protocol/schema.js";

/** ECMA-262, 21.4.1.1: the range of a Date. */
const maxTimeMs = 8.64e15;
/** Milliseconds since 1970; negative if the clock was wrong. */
export const time = integer(-maxTimeMs, maxTimeMs);

/** By which the clocks of gateways that act as one may differ, and by which a clock may be corrected. */
const clockErrorMs = 60_000;

/** Whether a time of the past, in milliseconds since 1970, was stored while the clock was wrong. */
export function isAhead(at: number, now: number): boolean {
	return at > now + clockErrorMs;
}

/**
 * Whether a stored due time has come, in milliseconds since 1970. One that is further away than the longest wait was stored
 * while the clock was wrong: it has come too.
 * @param longestMs from storing it until it is due
 */
export function isDue(at: number, now: number, longestMs: number): boolean {
	return at <= now || isAhead(at - longestMs, now);
}
