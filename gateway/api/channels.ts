/**
 * Firmware versions, and channels of releases, such as `stable` and `beta`. A release is in at most one channel. Devices
 * of other makers may report `v1.10.0` or `1.10` for 1.10.0.
 */

import type { SemVer } from "semver";
import coerce from "semver/functions/coerce.js";
import compare from "semver/functions/compare.js";
import compareBuild from "semver/functions/compare-build.js";
import parse from "semver/functions/parse.js";
import prerelease from "semver/functions/prerelease.js";
import { pattern } from "../../device/protocol/schema.js";

export const channelName = pattern(
	32,
	"^[a-z0-9][a-z0-9_-]*$",
	"a channel such as beta: lower-case letters, digits, '_' or '-',",
);

/** Default channel of releases that are not pre-releases; the catalog's `latest` is from it. */
export const stable = "stable";

interface Channelled {
	/** Semantic version. */
	readonly version: string;
	readonly channel?: string | undefined;
}

/** @returns undefined for a pre-release without a channel */
export function channelOf({ version, channel }: Channelled): string | undefined {
	return channel ?? (prerelease(version) === null ? stable : undefined);
}

/** Returns the highest version of a channel; undefined if it has no release. */
export function latestOf<R extends Channelled>(releases: readonly R[], channel: string): R | undefined {
	const [latest] = releases
		.filter((release) => channelOf(release) === channel)
		.sort((a, b) => compare(b.version, a.version));
	return latest;
}

/** Returns the catalog's `latest` release. */
export function latestStable<R extends Channelled>(releases: readonly R[]): R | undefined {
	return latestOf(
		releases.filter(({ version }) => prerelease(version) === null),
		stable,
	);
}

/** Text that contains a version; a number alone may be part of a commit hash. */
const namesVersion = /\d\.\d|^v?\d+$/i;

/** @returns null if the text contains no version */
export function parseVersion(text: string | null): SemVer | null {
	const known = parse(text);
	if (known || text === null || !namesVersion.test(text)) return known;
	return coerce(text, { includePrerelease: true });
}

/**
 * Compares semantic versions.
 * @returns undefined if one is unknown, or if both are builds of the same version, which have no order
 */
export function compareVersions(a: string | null, b: string | null): number | undefined {
	if (a === b && a !== null) return 0;
	const [versionA, versionB] = [parseVersion(a), parseVersion(b)];
	if (!versionA || !versionB) return undefined;
	const order = compare(versionA, versionB);
	const areBuilds = versionA.build.length > 0 && versionB.build.length > 0;
	return order === 0 && areBuilds && compareBuild(versionA, versionB) !== 0 ? undefined : order;
}

export function isNewer(a: string | null, b: string | null): boolean {
	return (compareVersions(a, b) ?? 0) > 0;
}

export function isSameVersion(a: string | null, b: string | null): boolean {
	return compareVersions(a, b) === 0;
}
