/** Builds releases of this checkout for virtual devices, like `npm run release`. */

import { inc, rcompare } from "semver";
import { messageOf } from "../../device/message-of.js";
import { parseVersion } from "../../gateway/api/channels.js";
import type { ReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { RequestError } from "../../gateway/problem.js";
import { packageVersion } from "../command-line/project.js";
import { formatReleaseKeys } from "../command-line/release-keys.js";
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

	/** Builds a release newer than the demo's devices if the folder is empty, so that an update is available. */
	async makeFirst(): Promise<void> {
		const { releases } = await readCatalog(this.#options.releasesDir);
		if (releases.length === 0) await this.#add(inc(packageVersion(), "patch") ?? packageVersion());
	}

	/** Next minor version after all known ones. @throws ReleaseError if the catalog cannot be read */
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
		try {
			const version = await this.next();
			if (this.#options.releaseKeys.length > 0)
				throw new Error(
					`RELEASE_KEYS is set, so devices require signed firmware. Use npm run release -- ${version} --allow-dirty --key …`,
				);
			await this.#add(version);
			return version;
		} catch (error) {
			throw new RequestError(422, `Building the release failed: ${messageOf(error)}`);
		}
	}

	async #add(version: string): Promise<void> {
		const { releasesDir, releaseKeys } = this.#options;
		const now = new Date();
		const buildTime = Math.floor(now.getTime() / 1000);
		const images = await makeVirtualImages(version, buildTime, formatReleaseKeys(releaseKeys));
		const date = now.toISOString().slice(0, 10);
		await addRelease(releasesDir, { version, date, notes, images });
	}
}
