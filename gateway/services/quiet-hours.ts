/** Quiet hours service. The event `quiet_hours` reports changes. */

import type { Infer } from "../../device/protocol/schema.js";
import type { storedQuietHours } from "../api/quiet-hours.js";
import type { Device } from "../sessions/device.js";
import { Service } from "./service.js";

export interface QuietHoursService {
	/** Returns the effective quiet hours of a device, like `GET /api/quiet-hours`; undefined: none. */
	of(device: Device): Infer<typeof storedQuietHours> | undefined;
	/**
	 * @param body body of `PUT /api/quiet-hours`; unknown fields are ignored
	 * @param by name of a person's token; null: another program, such as Home Assistant
	 * @throws {RequestError}
	 */
	set(body: unknown, by: string | null): Promise<unknown>;
}

export const quietHours = new Service<QuietHoursService>();
