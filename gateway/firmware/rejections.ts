/** Reasons for which an update is rejected. */

export interface UpdateRejection {
	readonly code:
		| "no_firmware"
		| "unknown_version"
		| "incompatible_firmware"
		| "ota_in_progress"
		| "storage_failed"
		| "target_offline";
	/** One sentence that says what to change. */
	readonly message: string;
	/** Waiting does not help this device; absent: the condition may pass, such as a catalog that is being written. */
	readonly isFinal?: true;
}

export const inProgress: UpdateRejection = Object.freeze({
	code: "ota_in_progress",
	message: "This device is being updated; wait until that has ended.",
});
export const hasGone: UpdateRejection = Object.freeze({
	code: "target_offline",
	message: "The device has gone; wait until it is connected again.",
});
export const isReplaced: UpdateRejection = Object.freeze({
	code: "unknown_version",
	message: "The firmware was replaced by another one of the same name after the rollout had begun.",
	isFinal: true,
});
export const notKept: UpdateRejection = Object.freeze({
	code: "storage_failed",
	message: "The gateway could not store the update, which was not started; see its log.",
});
