/** The gateway's records of a device: its last 24 hours, restarts, versions, updates and crashes. */

import { ask } from "../../../api/client/request.js";
import type { DeviceDetails, Past } from "../../../api/device.js";

export interface KnownPast {
	readonly details: DeviceDetails;
	readonly past: Past;
}

/** @throws Refusal */
export async function readPast(deviceId: string): Promise<KnownPast> {
	const path = `api/devices/${encodeURIComponent(deviceId)}`;
	const [details, past] = await Promise.all([ask<DeviceDetails>(path), ask<Past>(`${path}/history`)]);
	return { details, past };
}
