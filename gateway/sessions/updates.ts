/**
 * What sessions and sockets need of the room that updates devices (firmware/), and nothing more of it: with all of it
 * no test of a socket could do without images and catalogues.
 */

import type * as firmware from "../firmware/updates.js";

/** Why an update was not started. */
export interface UpdateRefusal {
	readonly code:
		| "no_firmware"
		| "unknown_version"
		| "incompatible_firmware"
		| "ota_in_progress"
		| "storage_failed"
		| "target_offline";
	/** One sentence that says what to change. */
	readonly message: string;
}

export type Updates = Pick<
	firmware.Updates,
	"trigger" | "onConnected" | "onUplink" | "historyOf" | "forget" | "obstacle"
>;
