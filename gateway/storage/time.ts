/** The schema of stored times, which the page can import without the gateway's files. */

import { integer } from "../../device/protocol/schema.js";

/** ECMA-262, 21.4.1.1: the range of a Date. */
const maxTimeMs = 8.64e15;
/** Milliseconds since 1970; negative if the clock was wrong. */
export const time = integer(-maxTimeMs, maxTimeMs);
