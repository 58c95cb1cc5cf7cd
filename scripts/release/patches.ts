/** Creates the patches of a release from earlier releases. */

import disk from "node:fs/promises";
import { join } from "node:path";
import { lt, rcompare } from "semver";
import { channelOf } from "../../gateway/api/channels.js";
import type { Catalog, Release, ReleaseImage, ReleasePatch } from "../../gateway/api/firmware.js";
import { sha256Of } from "../../gateway/digest.js";
import { patchPath } from "../../gateway/firmware/catalog.js";
import { errorCode } from "../../gateway/problem.js";
import type { NewRelease } from "./folder.js";
import { makePatch } from "./patch.js";

/** Maximum number of patches per image. */
const maxPatches = 3;
/** Maximum size relative to the image, since a device processes a patch more slowly than an image of the same size. */
const largestPart = 0.5;

export interface PatchesOptions {
	readonly releasesDir: string;
	/** Catalog without the new release. */
	readonly catalog: Catalog;
	readonly release: Pick<NewRelease, "version" | "channel">;
	/** Called for each patch that is not created. @param sentence reason */
	readonly onSkipped: (sentence: string) => void;
}

/**
 * Creates patches from the latest three earlier releases with an image for the same model and chip, preferring those of the same
 * channel.
 * @param image catalog entry @param bytes its file
 * @returns entry and file of each patch
 */
export async function makePatches(
	image: ReleaseImage,
	bytes: Uint8Array,
	{ releasesDir, catalog, release, onSkipped }: PatchesOptions,
): Promise<readonly { readonly entry: ReleasePatch; readonly bytes: Buffer }[]> {
	const rank = (other: Release) => +(channelOf(other) !== channelOf(release));
	const earlier = catalog.releases
		.filter(({ version }) => lt(version, release.version))
		.sort((a, b) => rank(a) - rank(b) || rcompare(a.version, b.version))
		.flatMap(({ version, images }) => images.map((source) => ({ version, source })))
		.filter(({ source }) => source.model === image.model && source.chip === image.chip)
		.slice(0, maxPatches);
	const patches: { entry: ReleasePatch; bytes: Buffer }[] = [];
	for (const { version, source } of earlier) {
		const skip = (why: string) => onSkipped(`Skipped the patch of ${image.path} from ${version}: ${why}.`);
		const from = await readImage(releasesDir, source);
		if (typeof from === "string") {
			skip(`${source.path} ${from}`);
			continue;
		}
		const patch = makePatch(from, bytes);
		if (patch.length >= bytes.length * largestPart) {
			skip(`${patch.length} bytes is too large compared to ${bytes.length} bytes of the image`);
			continue;
		}
		const entry = {
			path: patchPath(image.path, version),
			size: patch.length,
			sha256: sha256Of(patch),
			from_version: version,
			from: source.sha256,
		};
		patches.push({ entry, bytes: patch });
	}
	return patches;
}

/** @returns the file, or its problem */
async function readImage(releasesDir: string, { path, sha256 }: ReleaseImage): Promise<Buffer | string> {
	try {
		const bytes = await disk.readFile(join(releasesDir, path.slice("/releases/".length)));
		return sha256Of(bytes) === sha256 ? bytes : "differs from the catalog";
	} catch (error) {
		const code = errorCode(error);
		return code === "ENOENT" ? "is missing" : `cannot be read (${code})`;
	}
}
