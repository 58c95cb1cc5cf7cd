/**
 * What the composition root hands to the firmware room, and what it wants back. `withoutFirmware` stands in for it:
 * a gateway that has nothing to update with, and says so.
 */

import { Router } from "express";
import type { Logger } from "pino";
import type { Access } from "./access/access.js";
import type { Device, OtaMetadata } from "./sessions/device.js";
import type { Updates } from "./sessions/updates.js";
import type { Settings } from "./settings.js";

export interface FirmwareRoomOptions {
	readonly settings: Settings;
	/** `access.require("monitor")` before uploads, `access.require("device", "monitor")` before binaries. */
	readonly access: Access;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Sets how a device's update stands and tells every monitor. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
}

export interface FirmwareRoom {
	/** `/ota/*` and `/releases/*`. */
	readonly router: Router;
	readonly updates: Updates;
	/** Called before the gateway listens. @throws StartError where the gateway cannot start so */
	open(): Promise<void>;
	/** Stops timers; nothing is reported any more. */
	close(): Promise<void>;
}

export type CreateFirmwareRoom = (options: FirmwareRoomOptions) => FirmwareRoom;

export function withoutFirmware(): FirmwareRoom {
	return {
		router: Router(),
		updates: {
			trigger: async () => ({
				code: "no_firmware",
				message: "this gateway holds no firmware yet; upload one or build a release",
			}),
			onConnected: () => {},
			onUplink: () => {},
		},
		open: async () => {},
		close: async () => {},
	};
}
