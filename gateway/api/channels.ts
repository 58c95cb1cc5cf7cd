/**
 * Versions of firmware, and channels of releases, such as `stable` and `beta`: a release is in one at most. Devices of
 * other makers may report `v1.10.0` or `1.10` for 1.10.0.
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

/** Of releases that name no channel, unless they are pre-releases. The catalog's latest is of it. */
export const stable = "stable";

interface Channelled {
	/** By semantic versioning. */
	readonly version: string;
	readonly channel?: string | undefined;
}

/** @returns undefined for a pre-release that names none */
export function channelOf({ version, channel }: Channelled): string | undefined {
	return channel ?? (prerelease(version) === null ? stable : undefined);
}

/** The highest version of a channel. @returns undefined if it has no release */
export function latestOf<R extends Channelled>(releases: readonly R[], channel: string): R | undefined {
	const [latest] = releases
		.filter((release) => channelOf(release) === channel)
		.sort((a, b) => compare(b.version, a.version));
	return latest;
}

/** What the catalog's `latest` is. */
export function latestStable<R extends Channelled>(releases: readonly R[]): R | undefined {
	return latestOf(
		releases.filter(({ version }) => prerelease(version) === null),
		stable,
	);
}

/** A number alone may be part of a commit's hash. */
const namesVersion = /\d\.\d|^v?\d+$/i;

/** @returns null if the text names no version */
export function parseVersion(text: string | null): SemVer | null {
	const known = parse(text);
	if (known || text === null || !namesVersion.test(text)) return known;
	return coerce(text, { includePrerelease: true });
}

/**
 * By semantic versioning.
 * @returns undefined if one of them is unknown, or both are builds of one version, which have no order
 */
export function compareVersions(a: string | null, b: string | null): number | undefined {
	if (a === b && a !== null) return 0;
	const [one, other] = [parseVersion(a), parseVersion(b)];
	if (!one || !other) return undefined;
	const order = compare(one, other);
	const areBuilds = one.build.length > 0 && other.build.length > 0;
	return order === 0 && areBuilds && compareBuild(one, other) !== 0 ? undefined : order;
}

export function isNewer(a: string | null, b: string | null): boolean {
	return (compareVersions(a, b) ?? 0) > 0;
}

export function isSameVersion(a: string | null, b: string | null): boolean {
	return compareVersions(a, b) === 0;
}
