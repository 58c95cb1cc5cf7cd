/** State of a device's update, as sent to monitors in `metadata` of a session. */

import { integer, oneOf } from "../../device/protocol/schema.js";
import { closed, described, type InferShape, nullable, text } from "./shapes.js";
import { otaStatuses } from "./statuses.js";

/** The latest update. */
export const otaMetadata = closed({
	otaStatus: described(
		oneOf(...otaStatuses),
		"updated may still become rolled_back for 5 minutes, until the new firmware is confirmed",
	),
	/** Null before the download. */
	otaPercent: nullable(integer(0, 100)),
	/** Null before the first update. */
	otaVersion: nullable(text),
	otaReason: described(nullable(text), "why it failed or was rolled back"),
});
export type OtaMetadata = InferShape<typeof otaMetadata>;
export const noUpdate: OtaMetadata = {
	otaStatus: "idle",
	otaPercent: null,
	otaVersion: null,
	otaReason: null,
};
