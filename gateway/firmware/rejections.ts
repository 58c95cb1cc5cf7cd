/** Rejections of updates. */

import type { MonitorErrorCode } from "../api/frames.js";

export interface UpdateRejection {
	readonly code: MonitorErrorCode;
	/** Problem and remedy, for users. */
	readonly message: string;
	/** Whether a retry is pointless for this device. Absent for temporary conditions, such as a catalog that is being written. */
	readonly isFinal?: true;
}

export interface RejectedUpdate {
	readonly rejection: UpdateRejection;
}

export const inProgress: UpdateRejection = Object.freeze({
	code: "ota_in_progress",
	message: "An update of this device is in progress. Wait until it ends.",
});
export const targetOffline: UpdateRejection = Object.freeze({
	code: "target_offline",
	message: "The device is not connected. Retry once it has reconnected.",
});
export const imageReplaced: UpdateRejection = Object.freeze({
	code: "unknown_version",
	message: "The firmware was replaced by another image after the rollout started. Start a new rollout.",
	isFinal: true,
});
export const storageFailed: UpdateRejection = Object.freeze({
	code: "storage_failed",
	message: "Storing the update failed, so it was not started. See the gateway's log.",
});
