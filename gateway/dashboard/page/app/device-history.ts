/** Gateway's records of a device: its last 24 hours, restarts, versions, updates and crashes. */

import type { DeviceDetails, Past } from "../../../api/device.js";
import { request } from "./gateway.js";

export interface DeviceHistory {
	readonly details: DeviceDetails;
	readonly past: Past;
}

/** @throws Rejection */
export async function readHistory(deviceId: string): Promise<DeviceHistory> {
	const device = { params: { deviceId } };
	const [details, past] = await Promise.all([
		request("GET /api/devices/:deviceId", device),
		request("GET /api/devices/:deviceId/history", device),
	]);
	return { details, past };
}
