/** Channels of releases, such as `stable` and `beta`: a release is in one at most. */

import compare from "semver/functions/compare.js";
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
