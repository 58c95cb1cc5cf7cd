/** Which firmware a device could run instead of its own: what an update to it would do, in one place. */

import compare from "semver/functions/compare.js";
import valid from "semver/functions/valid.js";
import type { Catalog, UploadStatus } from "../../../api/firmware.js";
import type { SessionRecord } from "../../../api/session.js";

/** What `trigger_ota` can be asked for. */
export interface Firmware {
	/** `latest` resolved to its version, another release's version, or `custom`. */
	readonly selector: string;
	/** What a device runs afterwards; null where the image does not say. */
	readonly version: string | null;
	/** What it has images for; empty where that is not known. */
	readonly images: readonly { readonly model: string; readonly chip: string | null }[];
}

/** Everything a device can be updated to: the releases in the catalog's order, then the upload. */
export function firmwareOf(
	catalog: Catalog | undefined,
	upload: UploadStatus | undefined,
): readonly Firmware[] {
	const releases = (catalog?.releases ?? []).map(({ version, images }) => ({
		selector: version,
		version,
		images,
	}));
	if (!upload?.filename) return releases;
	const { version, model, chip } = upload;
	return [...releases, { selector: "custom", version, images: model ? [{ model, chip }] : [] }];
}

/** Whether the firmware has an image for that model and chip, as far as they are known. */
export function fits({ images }: Firmware, { session: { model }, chip }: Target): boolean {
	const isFor = (image: Firmware["images"][number]) =>
		(model === null || image.model === model) &&
		(image.chip === chip || image.chip === null || (chip === null && image.chip !== "virtual"));
	return images.length === 0 || images.some(isFor);
}

/** Of a device, what decides about its updates. */
export interface Target {
	readonly session: Pick<SessionRecord, "model" | "firmwareVersion">;
	/** Null: not known. */
	readonly chip: string | null;
}

/** What an update to a firmware would do to a device. */
export type Effect =
	| "update"
	| "downgrade"
	/** One of the two versions is not known, or is no semantic version. */
	| "unknown"
	/** It runs that version already. */
	| "none"
	/** The firmware has no image for it. */
	| "unfit";

export function effectOn(target: Target, firmware: Firmware): Effect {
	if (!fits(firmware, target)) return "unfit";
	const runs = valid(target.session.firmwareVersion);
	const offered = valid(firmware.version);
	if (runs === null || offered === null) return "unknown";
	const order = compare(runs, offered);
	return order < 0 ? "update" : order > 0 ? "downgrade" : "none";
}
