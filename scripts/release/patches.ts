/** The patches of a release: each makes one of its images from that of an earlier release, for devices that run it. */

import { createHash } from "node:crypto";
import disk from "node:fs/promises";
import { join } from "node:path";
import { lt, rcompare } from "semver";
import { channelOf } from "../../gateway/api/channels.js";
import type { Catalog, Release, ReleaseImage, ReleasePatch } from "../../gateway/api/firmware.js";
import { patchPath } from "../../gateway/firmware/catalog.js";
import { errorCode } from "../../gateway/problem.js";
import type { NewRelease } from "./folder.js";
import { makePatch } from "./patch.js";

/** Of each image. */
const patchesAtMost = 3;
/** Of the image: a device works longer on a patch than on an image of the same size. */
const largestPart = 0.5;

export interface PatchesOptions {
	readonly releasesDir: string;
	/** Without the new release. */
	readonly catalog: Catalog;
	readonly release: Pick<NewRelease, "version" | "channel">;
	/** Called for each patch that is not made. @param sentence says why */
	readonly onSkipped: (sentence: string) => void;
}

/**
 * From the images of the latest three releases below the new one that have one for the same model and chip; those of its
 * channel come first, as most of its devices run them.
 * @param image the entry in the catalog @param bytes its file
 * @returns each patch's entry and its file
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
		.slice(0, patchesAtMost);
	const patches: { entry: ReleasePatch; bytes: Buffer }[] = [];
	for (const { version, source } of earlier) {
		const skip = (why: string) => onSkipped(`No patch to ${image.path} from ${version}: ${why}.`);
		const from = await readImage(releasesDir, source);
		if (typeof from === "string") {
			skip(`${source.path} ${from}`);
			continue;
		}
		const patch = makePatch(from, bytes);
		if (patch.length >= bytes.length * largestPart) {
			skip(`it would have ${patch.length} bytes, the image has ${bytes.length}`);
			continue;
		}
		const entry = {
			path: patchPath(image.path, version),
			size: patch.length,
			sha256: digestOf(patch),
			from_version: version,
			from: source.sha256,
		};
		patches.push({ entry, bytes: patch });
	}
	return patches;
}

/** @returns the file, or what is wrong with it */
async function readImage(releasesDir: string, { path, sha256 }: ReleaseImage): Promise<Buffer | string> {
	try {
		const bytes = await disk.readFile(join(releasesDir, path.slice("/releases/".length)));
		return digestOf(bytes) === sha256 ? bytes : "is not the one in the catalog";
	} catch (error) {
		const code = errorCode(error);
		return code === "ENOENT" ? "is missing" : `cannot be read (${code})`;
	}
}

function digestOf(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}
