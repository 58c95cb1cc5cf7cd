/**
 * Services that extensions provide to each other. Extensions do not import each other, so each can be deleted; its services
 * are then absent.
 */

import type { Device } from "../sessions/device.js";
import type { LatestCrash, ReplacementService } from "./devices.js";
import type { AnnouncementService, JobService } from "./jobs.js";
import type { QuietHoursService } from "./quiet-hours.js";

export interface Services {
	readonly announcementJobs?: AnnouncementService;
	readonly commandJobs?: JobService;
	/** Returns the latest crash of a device at any gateway; undefined if there is none. */
	readonly latestCrash?: (deviceId: string) => LatestCrash | undefined;
	/** Returns the history of a device for `GET /api/devices/<id>`. */
	readonly deviceHistory?: (device: Device) => Promise<object>;
	readonly boardReplacements?: ReplacementService;
	readonly quietHours?: QuietHoursService;
	/**
	 * Returns the titles of the schedules that still play a sound, by the sound's id; none for a sound of ended schedules
	 * only. Resolves once the schedules are loaded.
	 */
	readonly scheduledSounds?: () => Promise<ReadonlyMap<string, readonly string[]>>;
	/** Path of WEBHOOKS_FILE, which belongs in a backup although it is outside the data folder. */
	readonly webhooksPath?: string;
}
