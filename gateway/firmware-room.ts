/**
 * What the composition root hands to the firmware room, and what it wants back: a test puts a room of its own in its place.
 */

import type { Router } from "express";
import type { Logger } from "pino";
import type { Access } from "./access/access.js";
import type { Binaries } from "./firmware/binaries.js";
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
	/** `/ota/firmware.bin` and `/releases/*`. */
	readonly binaries: Binaries;
	/** All other addresses below `/ota`. */
	readonly router: Router;
	readonly updates: Updates;
	/** Called before the gateway listens. @throws {NodeJS.ErrnoException} where its folder cannot be used */
	open(): Promise<void>;
	/** Stops timers; nothing is reported any more. */
	close(): Promise<void>;
}

export type CreateFirmwareRoom = (options: FirmwareRoomOptions) => FirmwareRoom;
