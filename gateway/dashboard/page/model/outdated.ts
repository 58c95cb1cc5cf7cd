/** Which firmware a device could run instead of its own: what an update to it would do, in one place. */

import compare from "semver/functions/compare.js";
import { channelOf, compareVersions, latestOf, stable } from "../../../api/channels.js";
import type { Entry } from "../../../api/client/fleet.js";
import { isUpdating } from "../../../api/client/words.js";
import type { Catalog, UploadStatus } from "../../../api/firmware.js";
import type { SessionRecord } from "../../../api/session.js";

/** What `trigger_ota` can be asked for. */
export interface Firmware {
	/** `latest` resolved to its version, another release's version, or `custom`. */
	readonly selector: string;
	/** What a device runs afterwards; null where the image does not say. */
	readonly version: string | null;
	/** Of a release; undefined: none. */
	readonly channel?: string | undefined;
	/** What it has images for; empty where that is not known. */
	readonly images: readonly { readonly model: string; readonly chip: string | null }[];
}

/** Everything a device can be updated to: the releases in the catalog's order, then the upload. */
export function firmwareOf(
	catalog: Catalog | undefined,
	upload: UploadStatus | undefined,
): readonly Firmware[] {
	const releases = (catalog?.releases ?? []).map((release) => ({
		selector: release.version,
		version: release.version,
		channel: channelOf(release),
		images: release.images,
	}));
	if (!upload?.filename) return releases;
	const { version, model, chip } = upload;
	return [...releases, { selector: "custom", version, images: model ? [{ model, chip }] : [] }];
}

/** The latest release of each channel. */
export function channelsOf(catalog: Catalog | undefined): readonly Firmware[] {
	const releases = catalog?.releases ?? [];
	return [...new Set(releases.flatMap((release) => channelOf(release) ?? []))].flatMap((channel) => {
		const latest = latestOf(releases, channel);
		return latest
			? { selector: `channel ${channel}`, version: latest.version, channel, images: latest.images }
			: [];
	});
}

/** "1.4.0", "1.5.0 (beta)", "The upload (1.5.0-rc.1)" */
export function firmwareText({ selector, version, channel = stable }: Firmware): string {
	if (selector === "custom") return `The upload (${version ?? "version not known"})`;
	return channel === stable ? selector : `${selector} (${channel})`;
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
	/** One of the two versions is not known, or both are builds of one version. */
	| "unknown"
	/** It runs that version already. */
	| "none"
	/** The firmware has no image for it. */
	| "unfit";

export function effectOn(target: Target, firmware: Firmware): Effect {
	if (!fits(firmware, target)) return "unfit";
	const order = compareVersions(target.session.firmwareVersion, firmware.version);
	if (order === undefined) return "unknown";
	return order < 0 ? "update" : order > 0 ? "downgrade" : "none";
}

/** Finds the release that a device should be updated to now; undefined: none. */
export type FindUpdate = (entry: Entry) => Firmware | undefined;

/**
 * The update of a connected device is the newest stable release that has an image for it, where that is newer than what it
 * runs. Other releases are left to a person, and so is a release that the device has rolled back.
 */
export function updatesOf(catalog: Catalog | undefined): FindUpdate {
	const releases = firmwareOf(catalog, undefined)
		.filter(({ channel, images }) => images.length > 0 && channel === stable)
		.sort((a, b) => compare(b.selector, a.selector));
	// Thousands of devices are alike.
	const known = new Map<string, Firmware | undefined>();
	return (entry) => {
		const { model, firmwareVersion, connected, metadata } = entry.session;
		if (!connected || isUpdating(metadata)) return undefined;
		const like = `${model} ${entry.chip} ${firmwareVersion}`;
		if (!known.has(like)) {
			const newest = releases.find((release) => fits(release, entry));
			known.set(like, newest && effectOn(entry, newest) === "update" ? newest : undefined);
		}
		const update = known.get(like);
		const isRolledBack = metadata.otaStatus === "rolled_back" && metadata.otaVersion === update?.version;
		return isRolledBack ? undefined : update;
	};
}

/** A release, and the devices that should be updated to it. */
export interface DueUpdate {
	readonly firmware: Firmware;
	/** At least one. */
	readonly keys: readonly string[];
	/** Devices that it has an image for. */
	readonly fitting: number;
}

/** Every release that devices should be updated to. */
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
