/**
 * What sessions and sockets need of the room that updates devices (firmware/), and nothing more of it: without this
 * seam the sockets would know images and catalogues, and no test of a socket could do without them.
 */

import type { Uplink } from "../../device/protocol/messages.js";
import type { Device, OtaStatus } from "./device.js";

/** Why an update was not started. */
export interface UpdateRefusal {
	readonly code:
		| "no_firmware"
		| "unknown_version"
		| "incompatible_firmware"
		| "ota_in_progress"
		| "target_offline";
	/** One sentence that says what to change. */
	readonly message: string;
}

/** One update of a device; times in milliseconds since 1970. */
export interface UpdateRecord {
	readonly status: OtaStatus;
	/** 0 to 100; absent before the download began. */
	readonly percent?: number;
	/** What was sent, and what ran before; absent where that is not known. */
	readonly version?: string;
	readonly from?: string;
	/** Why it failed or was rolled back. */
	readonly reason?: string;
	readonly startedAt: number;
	readonly endedAt?: number;
}

export interface Updates {
	/**
	 * Picks the image, sends `start_ota` by `device.session.send` and sets the device's metadata to `pending`.
	 *
	 * @param device a connected one; it may be gone by the time an image is found
	 * @param version `latest`, `custom`, a version, or undefined where none was asked for
	 * @returns undefined once the command is on its way
	 */
	trigger(device: Device, version: string | undefined): Promise<UpdateRefusal | undefined>;
	/** A device is back, there for the first time, or known from the last run of the gateway; what it now runs, its next state report says. */
	onConnected(device: Device): void;
	/** A valid uplink of a named device; `device` already shows what a state report says. */
	onUplink(device: Device, uplink: Uplink): void;
	/** A device's updates, the latest last, at most 10. */
	historyOf(deviceId: string): readonly UpdateRecord[];
	/** Forgets them. */
	forget(deviceId: string): void;
}
