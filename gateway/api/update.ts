/** The state of a device's update, as monitors get it: `metadata` of the session record. */

const underWay = ["pending", "downloading", "rebooting"] as const;
const ended = ["updated", "rolled_back", "failed"] as const;
export const otaStatuses = ["idle", ...underWay, ...ended] as const;
export type OtaStatus = (typeof otaStatuses)[number];

/** The latest update. */
export interface OtaMetadata {
	readonly otaStatus: OtaStatus;
	/** 0 to 100; null unless a download has begun. */
	readonly otaPercent: number | null;
	/** Null before the first update. */
	readonly otaVersion: string | null;
	/** Null unless it failed or was rolled back. */
	readonly otaReason: string | null;
}
export const noUpdate: OtaMetadata = {
	otaStatus: "idle",
	otaPercent: null,
	otaVersion: null,
	otaReason: null,
};
