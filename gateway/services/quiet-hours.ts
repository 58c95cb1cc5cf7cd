/** Quiet hours, as other extensions show and set them. The event `quiet_hours` says when some have changed. */

import type { Device } from "../sessions/device.js";
import { Service } from "./service.js";

export interface QuietHoursService {
	/** Those that count for a device, as `GET /api/quiet-hours` has them; undefined: none. */
	of(device: Device):
		| {
				readonly targets: { readonly device?: string };
				/** Times of day, such as "22:00". */
				readonly from: string;
				readonly until: string;
				readonly days?: readonly string[];
				/** In percent. */
				readonly volume?: number;
				/** 0 to 1. */
				readonly brightness?: number;
				readonly onlyUrgent?: boolean;
				readonly on: boolean;
		  }
		| undefined;
	/**
	 * @param asked the body of `PUT /api/quiet-hours`; other fields are left out
	 * @param by the name of a person's token; null: another program, such as Home Assistant
	 * @throws {RequestError}
	 */
	set(asked: unknown, by: string | null): Promise<unknown>;
}

export const quietHours = new Service<QuietHoursService>();
