import type { Core } from "../extension.js";

export const fleetLimits = Object.freeze({
	/** Time limit of a request that removes many devices. The response has the number left. */
	forgetMs: 15_000,
	/** Minimum interval between frames of summary changes. */
	summaryPauseMs: 250,
	/** Minimum interval between `list_update` frames. */
	listPauseMs: 1_000,
	/** Rate limit of whole summaries per monitor, as each takes as long as hundreds of reports. */
	summariesASecond: 1,
	summaryBurst: 20,
});

export interface FleetCore extends Core {
	readonly limits: Core["limits"] & { readonly [Name in keyof typeof fleetLimits]: number };
}
