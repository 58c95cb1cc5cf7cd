/**
 * What sessions and sockets need of the room that updates devices (firmware/), and nothing more of it: without this
 * seam the sockets would know images and catalogues, and no test of a socket could do without them.
 */

import type { Uplink } from "../../device/protocol/messages.js";
import type { Device } from "./device.js";

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

export interface Updates {
	/**
	 * Picks the image, sends `start_ota` by `device.session.send` and sets the device's metadata to `pending`.
	 *
	 * @param device a connected one; it may be gone by the time an image is found
	 * @param version `latest`, `custom`, a version, or undefined where none was asked for
	 * @returns undefined once the command is on its way
	 */
	trigger(device: Device, version: string | undefined): Promise<UpdateRefusal | undefined>;
	/** A device is back, or there for the first time; what it now runs, its next state report says. */
	onConnected(device: Device): void;
	/** A valid uplink of a named device; `device` already shows what a state report says. */
	onUplink(device: Device, uplink: Uplink): void;
}
