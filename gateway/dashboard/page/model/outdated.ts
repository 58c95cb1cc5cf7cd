/** Firmware available for a device, and the effect of an update to it. */

import compare from "semver/functions/compare.js";
import { boardChips } from "../../../../device/protocol/models.js";
import { channelOf, compareVersions, latestOf, stable } from "../../../api/channels.js";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import type { Catalog, UploadStatus } from "../../../api/firmware.js";
import type { SessionRecord } from "../../../api/session.js";

/** Firmware that `trigger_ota` can install. */
export interface Firmware {
	/** `latest` resolved to its version, another release's version, or `custom`. */
	readonly selector: string;
	/** Version after the update; null if the image does not contain it. */
	readonly version: string | null;
	/** Channel of a release; undefined without one. */
	readonly channel?: string | undefined;
	/** Supported models and chips; empty if unknown. */
	readonly images: readonly { readonly model: string; readonly chip: string | null }[];
}

/**
 * Lists installable firmware: the releases in the catalog's order, then the upload.
 * @param catalog see `offeredReleases`
 */
export function firmwareOf(catalog?: Catalog, upload?: UploadStatus): readonly Firmware[] {
	const releases = (catalog?.releases ?? []).map((release) => ({
		selector: release.version,
		version: release.version,
		channel: channelOf(release),
		images: release.images,
	}));
	if (!upload?.filename || upload.problem !== undefined) return releases;
	const { version, model, chip } = upload;
	return [...releases, { selector: "custom", version, images: model ? [{ model, chip }] : [] }];
}

/** Latest release of each channel. */
export function channelsOf(catalog: Catalog | undefined): readonly Firmware[] {
	const releases = catalog?.releases ?? [];
	return [...new Set(releases.flatMap((release) => channelOf(release) ?? []))].flatMap((channel) => {
		const latest = latestOf(releases, channel);
		return latest
			? { selector: `channel ${channel}`, version: latest.version, channel, images: latest.images }
			: [];
	});
}

/** Display name: "1.4.0", "1.5.0 (beta)", "Upload (1.5.0-rc.1)". */
export function firmwareText({ selector, version, channel = stable }: Firmware): string {
	if (selector === "custom") return `Upload (${version ?? "unknown version"})`;
	return channel === stable ? selector : `${selector} (${channel})`;
}

/** Whether the firmware has an image for a model and chip; unknown ones match. */
export function fits({ images }: Firmware, { session: { model }, chip }: Target): boolean {
	const isFor = (image: Firmware["images"][number]) =>
		(model === null || image.model === model) &&
		(image.chip === chip ||
			image.chip === null ||
			(chip === null && boardChips.some((board) => board === image.chip)));
	return images.length === 0 || images.some(isFor);
}

/** Device fields that determine its updates. */
export interface Target {
	readonly session: Pick<SessionRecord, "model" | "firmwareVersion">;
	/** Null if unknown. */
	readonly chip: string | null;
}

/** Effect of an update on a device. */
export type Effect =
	| "update"
	| "downgrade"
	/** A version is unknown, or both are builds of the same version. */
	| "unknown"
	/** The device already runs this version. */
	| "none"
	/** The firmware has no image for the device. */
	| "unfit";

export function effectOn(target: Target, firmware: Firmware): Effect {
	if (!fits(firmware, target)) return "unfit";
	const order = compareVersions(target.session.firmwareVersion, firmware.version);
	if (order === undefined) return "unknown";
	return order < 0 ? "update" : order > 0 ? "downgrade" : "none";
}

/** Finds the release that a device should be updated to; undefined if there is none. */
export type FindUpdate = (entry: Entry) => Firmware | undefined;

/**
 * Creates a function that finds the newest stable release with an image for a connected device, if it is newer than its firmware.
 * Prereleases and a release that the device rolled back are not offered.
 */
export function updatesOf(catalog: Catalog | undefined): FindUpdate {
	const releases = firmwareOf(catalog)
		.filter(({ channel, images }) => images.length > 0 && channel === stable)
		.sort((a, b) => compare(b.selector, a.selector));
	// Cached, since thousands of devices have the same model, chip and version.
	const known = new Map<string, Firmware | undefined>();
	return (entry) => {
		const { model, firmwareVersion, connected, metadata } = entry.session;
		if (!connected || isUpdating(metadata)) return undefined;
		const key = `${model} ${entry.chip} ${firmwareVersion}`;
		if (!known.has(key)) {
			const newest = releases.find((release) => fits(release, entry));
			known.set(key, newest && effectOn(entry, newest) === "update" ? newest : undefined);
		}
		const update = known.get(key);
		const isRolledBack = metadata.otaStatus === "rolled_back" && metadata.otaVersion === update?.version;
		return isRolledBack ? undefined : update;
	};
}

/** Release with the devices that should be updated to it. */
export interface DueUpdate {
	readonly firmware: Firmware;
	/** Keys of the outdated devices; at least one. */
	readonly keys: readonly string[];
	/** Number of devices that the release has an image for. */
	readonly fitting: number;
}

/** Lists the releases that devices should be updated to. */
export function dueUpdates(entries: readonly Entry[], findUpdate: FindUpdate): readonly DueUpdate[] {
	const due = new Map<Firmware, string[]>();
	for (const entry of entries) {
		const firmware = findUpdate(entry);
		const keys = firmware && due.get(firmware);
		if (keys) keys.push(entry.key);
		else if (firmware) due.set(firmware, [entry.key]);
	}
	return Array.from(due, ([firmware, keys]) => ({
		firmware,
		keys,
		fitting: entries.filter((entry) => fits(firmware, entry)).length,
	}));
}
