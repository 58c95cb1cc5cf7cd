/** Services for crashes, history and replacement of devices. */

import type { CrashKind } from "../../device/protocol/messages.js";
import type { Device } from "../sessions/device.js";
import { Service } from "./service.js";

export interface LatestCrash {
	readonly id: string;
	readonly kind: CrashKind;
	/** Version of the crashed firmware; empty if unknown. */
	readonly version: string;
}

/** Returns the latest crash of a device at any gateway; undefined if there is none. */
export const latestCrash = new Service<(deviceId: string) => LatestCrash | undefined>();

/** Returns the history of a device for `GET /api/devices/<id>`. */
export const deviceHistory = new Service<(device: Device) => Promise<object>>();

/** Replacements of boards. */
export interface ReplacementService {
	/** @returns id of the board that replaced a device; undefined if it was not replaced */
	replacementOf(deviceId: string): string | undefined;
	/** Returns the boards that a device has replaced for `GET /api/devices/<id>`, the latest first. */
	before(deviceId: string): readonly object[];
}

export const boardReplacements = new Service<ReplacementService>();
