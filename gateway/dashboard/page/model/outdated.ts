/** Which firmware a device could run instead of its own: what "outdated" means, in one place. */

import lt from "semver/functions/lt.js";
import valid from "semver/functions/valid.js";
import type { Catalog, SessionRecord, UploadStatus } from "./messages.js";

/** What `trigger_ota` can be asked for. */
export interface Firmware {
	/** `latest` resolved to its version, another release's version, or `custom`. */
	readonly selector: string;
	/** What a device runs afterwards; null where the image does not say. */
	readonly version: string | null;
	/** The models that it has an image for; empty where that is not known. */
	readonly models: readonly string[];
}

/** Everything a device can be updated to: the releases in the catalog's order, then the upload. */
export function firmwareOf(
	catalog: Catalog | undefined,
	upload: UploadStatus | undefined,
): readonly Firmware[] {
	const releases = (catalog?.releases ?? []).map(({ version, images }) => ({
		selector: version,
		version,
		models: [...new Set(images.map(({ model }) => model))],
	}));
	if (!upload?.filename) return releases;
	const custom = { selector: "custom", version: upload.version, models: upload.model ? [upload.model] : [] };
	return [...releases, custom];
}

/** Whether the firmware has an image for that model, as far as is known. */
export function fits({ models }: Firmware, { model }: SessionRecord): boolean {
	return models.length === 0 || model === null || models.includes(model);
}

/** Whether a device that could run this firmware runs an older one. */
export function isOutdated(session: SessionRecord, firmware: Firmware): boolean {
	const runs = valid(session.firmwareVersion);
	const offered = valid(firmware.version);
	return fits(firmware, session) && runs !== null && offered !== null && lt(runs, offered);
}
