/** State of a device's update, as sent to monitors in `metadata` of a session. */

import { integer, oneOf } from "../../device/protocol/schema.js";
import { closed, described, type InferShape, nullable, text } from "./shapes.js";
import { otaStatuses } from "./statuses.js";

/** The latest update. */
export const otaMetadata = closed({
	otaStatus: described(
		oneOf(...otaStatuses),
		"updated can change to rolled_back within 5 minutes, until the new firmware is confirmed",
	),
	/** Null before the download. */
	otaPercent: nullable(integer(0, 100)),
	/** Null before the first update. */
	otaVersion: nullable(text),
	otaReason: described(nullable(text), "reason of a failure or rollback"),
});
export type OtaMetadata = InferShape<typeof otaMetadata>;
export const noUpdate: OtaMetadata = {
	otaStatus: "idle",
	otaPercent: null,
	otaVersion: null,
	otaReason: null,
};
