/**
 * Number of runs of a property. PROPERTY_RUNS is the percentage of the specified number: 5 in `npm test`, 100 in `npm
 * run test:all`, more for a longer search.
 */

import fc from "fast-check";
import { seed } from "./seed.js";

const percent = Number(process.env.PROPERTY_RUNS || 5);
/** Minimum number of runs. */
const least = 10;

/** @param meant number of runs in `npm run test:all` */
export function runs(meant: number): number {
	return Math.max(Math.min(meant, least), Math.round((meant * percent) / 100));
}

fc.configureGlobal({
	seed,
	numRuns: runs(100),
	// Includes the failure itself, not only its values.
	includeErrorInReport: true,
});
