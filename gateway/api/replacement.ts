/** One board in place of another: how it is asked for, and what the new one is sent. */

import { deviceId } from "../../device/protocol/messages.js";
import { either, type Infer, list, object } from "../../device/protocol/schema.js";
import { asks } from "./command.js";

/** The body of `POST /api/devices/<old>/replace`. */
export const askedReplacement = object({ by: deviceId });

const { set_volume, set_brightness, set_auto_brightness, set_haptics } = asks;
/** What a device remembers over a restart, as the commands that set it. */
export const lastingSettings = list(either(set_volume, set_brightness, set_auto_brightness, set_haptics), 4);
export type LastingSettings = Infer<typeof lastingSettings>;

/** The answer to that request. */
export interface Replacement {
	/** The old board. */
	readonly deviceId: string;
	readonly by: string;
	/** ISO 8601. */
	readonly at: string;
	/** Sent to the new one once it is connected; empty: it has them. */
	readonly settings: LastingSettings;
	/** A sentence for each setting of the old one that the new one cannot have. */
	readonly doNotFit: readonly string[];
}
