/** Which firmware a device could run instead of its own: what an update to it would do, in one place. */

import compare from "semver/functions/compare.js";
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
export function fits({ models }: Firmware, { model }: Pick<SessionRecord, "model">): boolean {
	return models.length === 0 || model === null || models.includes(model);
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

export function effectOn(
	session: Pick<SessionRecord, "model" | "firmwareVersion">,
	firmware: Firmware,
): Effect {
	if (!fits(firmware, session)) return "unfit";
	const runs = valid(session.firmwareVersion);
	const offered = valid(firmware.version);
	if (runs === null || offered === null) return "unknown";
	const order = compare(runs, offered);
	return order < 0 ? "update" : order > 0 ? "downgrade" : "none";
}
