/** Services for crashes, histories and replacements of devices. */

import type { CrashKind } from "../../device/protocol/messages.js";
import type { Device } from "../sessions/device.js";
import { Service } from "./service.js";

export interface LatestCrash {
	readonly id: string;
	readonly kind: CrashKind;
	/** Version of the crashed firmware; empty if unknown. */
	readonly version: string;
}

/** The latest crash of a device, at all gateways together; undefined if none is known. */
export const latestCrash = new Service<(deviceId: string) => LatestCrash | undefined>();

/** The history of a device, as in `GET /api/devices/<id>`. */
export const deviceHistory = new Service<(device: Device) => Promise<object>>();

/** Knows which boards others have replaced. */
export interface ReplacementService {
	/** @returns the board that has replaced it */
	replacementOf(deviceId: string): string | undefined;
	/** The boards in whose place a device is, as `GET /api/devices/<id>` has them, the latest first. */
	before(deviceId: string): readonly object[];
}

export const boardReplacements = new Service<ReplacementService>();
