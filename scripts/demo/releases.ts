/** Builds releases of this checkout for virtual devices, like `npm run release`. */

import { inc, rcompare } from "semver";
import { messageOf } from "../../device/message-of.js";
import { parseVersion } from "../../gateway/api/channels.js";
import type { ReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { RequestError } from "../../gateway/problem.js";
import { packageVersion } from "../command-line/project.js";
import { addRelease, readCatalog } from "../release/folder.js";
import { makeVirtualImages } from "../release/images.js";

const notes = "Built from this checkout by npm run demo.";

export interface ReleaseOptions {
	readonly releasesDir: string;
	/** Release keys of the gateway. */
	readonly releaseKeys: ReleaseKeys;
	/** Versions running on the devices. */
	readonly running: () => readonly string[];
}

/** Next minor version after all known ones. @throws Error if the catalog cannot be read */
export async function nextVersion({ releasesDir, running }: ReleaseOptions): Promise<string> {
	const { releases } = await readCatalog(releasesDir);
	const versions = [packageVersion(), ...running(), ...releases.map(({ version }) => version)];
	const known = versions.flatMap((version) => parseVersion(version) ?? []);
	const highest = known.sort(rcompare)[0]?.version ?? packageVersion();
	return inc(highest, "minor") ?? highest;
}

/** Builds the next version from the current sources. @returns the version @throws {RequestError} */
export async function makeRelease(options: ReleaseOptions): Promise<string> {
	const { releasesDir, releaseKeys } = options;
	try {
		const version = await nextVersion(options);
		if (releaseKeys.length > 0)
			throw new Error(
				`RELEASE_KEYS is set, so devices require signed firmware. Use npm run release -- ${version} --allow-dirty --key …`,
			);
		const now = new Date();
		const images = await makeVirtualImages(version, Math.floor(now.getTime() / 1000));
		await addRelease(releasesDir, { version, date: now.toISOString().slice(0, 10), notes, images });
		return version;
	} catch (error) {
		throw new RequestError(422, `Building the release failed: ${messageOf(error)}`);
	}
}
