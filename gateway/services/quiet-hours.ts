/** Quiet hours service. The event `quiet_hours` reports changes. */

import type { Device } from "../sessions/device.js";

export interface QuietHoursService {
	/** Returns the effective quiet hours of a device, like `GET /api/quiet-hours`; undefined: none. */
	of(device: Device):
		| {
				readonly targets: { readonly device?: string };
				/** Time of day, such as "22:00"; likewise `until`. */
				readonly from: string;
				readonly until: string;
				readonly days?: readonly string[];
				/** Maximum, in percent. */
				readonly volume?: number;
				/** Maximum, 0 to 1. */
				readonly brightness?: number;
				readonly onlyUrgent?: boolean;
				readonly on: boolean;
		  }
		| undefined;
	/**
	 * @param body body of `PUT /api/quiet-hours`; unknown fields are ignored
	 * @param by name of a person's token; null: another program, such as Home Assistant
	 * @throws {RequestError}
	 */
	set(body: unknown, by: string | null): Promise<unknown>;
}
