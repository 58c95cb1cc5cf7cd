/** Uplinks of a device during an update. */

import { checkUplink, type Uplink } from "../../../device/protocol/messages.js";
import { sampleReport, withField } from "../../support/sample-report.js";

export function uplink(message: unknown): Uplink {
	const checked = checkUplink(message);
	if (checked.problem !== undefined) throw new Error(checked.problem);
	return checked.uplink;
}

export const complete = uplink({ type: "ota_complete" });

export function failure(reason: string): Uplink {
	return uplink({ type: "ota_error", reason });
}

export function progress(percent: number): Uplink {
	return uplink({ type: "ota_progress", percent, bytes_written: percent * 10, bytes_total: 1000 });
}

/** @param uptimeSeconds time since the start of the device @param image id of the running image */
export function report(version: string, uptimeSeconds = 0, resetReason = "SW_RESET", image?: string): Uplink {
	const health = {
		uptime_seconds: uptimeSeconds,
		free_heap_bytes: 1,
		min_free_heap_bytes: 1,
		reset_reason: resetReason,
	};
	const named = withField(sampleReport("DEV-1"), "system.firmware_version", version);
	return uplink(withField(withField(named, "system.image", image), "health", health));
}
