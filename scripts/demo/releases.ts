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

export interface DemoReleasesOptions {
	readonly releasesDir: string;
	/** Release keys of the gateway. */
	readonly releaseKeys: ReleaseKeys;
	/** Versions running on the devices. */
	readonly running: () => readonly string[];
}

export class DemoReleases {
	readonly #options: DemoReleasesOptions;
	#making: Promise<string> | undefined;

	constructor(options: DemoReleasesOptions) {
		this.#options = options;
	}

	/** Next minor version after all known ones. @throws Error if the catalog cannot be read */
	async next(): Promise<string> {
		const { releasesDir, running } = this.#options;
		const { releases } = await readCatalog(releasesDir);
		const versions = [packageVersion(), ...running(), ...releases.map(({ version }) => version)];
		const known = versions.flatMap((version) => parseVersion(version) ?? []);
		const highest = known.sort(rcompare)[0]?.version ?? packageVersion();
		return inc(highest, "minor") ?? highest;
	}

	/** Builds the next version from the current sources. Concurrent calls share the result. @returns the version @throws {RequestError} */
	make(): Promise<string> {
		this.#making ??= this.#makeNext().finally(() => {
			this.#making = undefined;
		});
		return this.#making;
	}

	async #makeNext(): Promise<string> {
		const { releasesDir, releaseKeys } = this.#options;
		try {
			const version = await this.next();
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
}
