/**
 * How often a property is tried. PROPERTY_RUNS is the percentage of the runs that a property is meant to have: 5 in `npm test`,
 * 100 in `npm run test:all`, more to search longer.
 */

import fc from "fast-check";
import { seed } from "./seed.js";

const percent = Number(process.env.PROPERTY_RUNS || 5);
/** Fewer than this would not be worth the start. */
const least = 10;

/** @param meant number of runs in `npm run test:all` */
export function runs(meant: number): number {
	return Math.max(Math.min(meant, least), Math.round((meant * percent) / 100));
}

fc.configureGlobal({
	seed,
	numRuns: runs(100),
	// What failed, and not only for which values.
	includeErrorInReport: true,
});
