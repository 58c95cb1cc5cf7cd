import type { Core } from "../extension.js";

export const fleetLimits = Object.freeze({
	/** For a request that forgets many devices; then it says how many are left. */
	forgetMs: 15_000,
	/** Between two frames of summary changes. */
	summaryPauseMs: 250,
	/** Between two frames that say that a list has changed. */
	listPauseMs: 1_000,
	/** Whole summaries that one monitor can request: each takes as long as hundreds of reports. */
	summariesASecond: 1,
	summaryBurst: 20,
});

export interface FleetCore extends Core {
	readonly limits: Core["limits"] & { readonly [Name in keyof typeof fleetLimits]: number };
}
