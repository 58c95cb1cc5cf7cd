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

/** @param uptime seconds since the start of the device @param image id of the running image */
export function report(version: string, uptime = 0, reset = "SW_RESET", image?: string): Uplink {
	const heap = { free_heap_bytes: 1, min_free_heap_bytes: 1 };
	const health = { uptime_seconds: uptime, ...heap, reset_reason: reset };
	const named = withField(sampleReport("DEV-1"), "system.firmware_version", version);
	return uplink(withField(withField(named, "system.image", image), "health", health));
}
