/** Types of the services for crashes and replacement of devices. */

import type { CrashKind } from "../../device/protocol/messages.js";

export interface LatestCrash {
	readonly id: string;
	readonly kind: CrashKind;
	/** Version of the crashed firmware; empty if unknown. */
	readonly version: string;
}

/** Replacements of boards. */
export interface ReplacementService {
	/** @returns id of the board that replaced a device; undefined if it was not replaced */
	replacementOf(deviceId: string): string | undefined;
	/** Returns the boards that a device has replaced for `GET /api/devices/<id>`, the latest first. */
	before(deviceId: string): readonly object[];
}
