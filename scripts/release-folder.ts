/**
 * The folder of releases: puts images there under the names that the interface gives them, and writes the catalog from what
 * the binaries say of themselves. The catalog comes last and whole: a gateway that reads it at any moment finds every file
 * that it names, and a release that failed half way is not one.
 */

import { createHash } from "node:crypto";
import disk from "node:fs/promises";
import { dirname, join } from "node:path";
import { compare, parse, prerelease } from "semver";
import { type Catalog, parseCatalog, type Release, type ReleaseImage } from "../gateway/firmware/catalog.js";
import { type ImageInfo, parseImage } from "../gateway/firmware/image.js";
import { errorCode } from "../gateway/start-error.js";
import { writeWhole } from "../gateway/whole-file.js";

/** The gateway hands it all out, and may run as another user. */
const publicMode = 0o644;

/** Why there is no release; the message is for the person who wanted it. */
export class ReleaseRefused extends Error {
	override name = "ReleaseRefused";
}

export interface NewRelease {
	/** By semantic versioning. */
	readonly version: string;
	/** Year, month, day. */
	readonly date: string;
	readonly notes: string;
	readonly images: readonly Uint8Array[];
}

/**
 * Adds a release.
 *
 * @returns the catalog as it is now
 * @throws ReleaseRefused; the folder is then as it was
 */
export async function addRelease(releasesDir: string, release: NewRelease): Promise<Catalog> {
	const catalog = await readCatalog(releasesDir);
	requireNewVersion(catalog, release.version);
	const entries = release.images.map((image) => ({ image, entry: describeImage(image, release.version) }));
	const paths = entries.map(({ entry }) => entry.path);
	const twice = paths.find((path, index) => paths.indexOf(path) !== index);
	if (twice) throw new ReleaseRefused(`two images of this release would both be ${twice}`);
	const written: string[] = [];
	try {
		for (const { image, entry } of entries) {
			const file = join(releasesDir, entry.path.slice("/releases/".length));
			await disk.mkdir(dirname(file), { recursive: true });
			// Also over what a release that failed left there.
			await writeWhole(disk, file, image, publicMode);
			written.push(file);
		}
		const { version, date, notes } = release;
		const added: Release = { version, date, notes, images: entries.map(({ entry }) => entry) };
		const next = withRelease(catalog, added);
		await writeWhole(
			disk,
			join(releasesDir, "catalog.json"),
			`${JSON.stringify(next, null, "\t")}\n`,
			publicMode,
		);
		return next;
	} catch (error) {
		for (const file of written) await disk.rm(file, { force: true });
		throw error;
	}
}

/** @throws ReleaseRefused where there is one that cannot be read */
export async function readCatalog(releasesDir: string): Promise<Catalog> {
	const file = join(releasesDir, "catalog.json");
	try {
		return parseCatalog(await disk.readFile(file, "utf8"));
	} catch (error) {
		if (errorCode(error) === "ENOENT") return { schema: 1, latest: null, releases: [] };
		throw new ReleaseRefused(`${file} cannot be read, put it right first: ${messageOf(error)}`);
	}
}

/** @throws ReleaseRefused where it is no semantic version, or is there already */
export function requireNewVersion(catalog: Catalog, version: string): void {
	if (!/^\d/.test(version) || parse(version)?.raw !== version || version.length > 31)
		throw new ReleaseRefused(`"${version}" is no semantic version such as 1.4.0 or 1.5.0-rc.1`);
	if (catalog.releases.some((release) => compare(release.version, version) === 0))
		throw new ReleaseRefused(`release ${version} is there already; take a new version`);
}

function describeImage(image: Uint8Array, version: string): ReleaseImage {
	const info = inspect(image);
	if (info.version !== version)
		throw new ReleaseRefused(
			`the image for ${info.model} says that it is version ${info.version}, not ${version}`,
		);
	return {
		model: info.model,
		path: `/releases/${folderOf(info)}/firmware-v${version}.bin`,
		size: image.byteLength,
		sha256: createHash("sha256").update(image).digest("hex"),
		chip: info.chip,
		idf_version: info.idfVersion,
	};
}

/** A folder a model; images that are not for a board have theirs below their chip's name. */
function folderOf({ model, chip }: ImageInfo): string {
	const folder = model.toLowerCase();
	return chip === "esp32s3" ? folder : `${chip}/${folder}`;
}

/** The gateway's own check. */
function inspect(image: Uint8Array): ImageInfo {
	try {
		return parseImage(Buffer.from(image.buffer, image.byteOffset, image.byteLength));
	} catch (error) {
		throw new ReleaseRefused(`the gateway would refuse the image: ${messageOf(error)}`);
	}
}

/** `latest` is the highest version that is no pre-release. */
function withRelease(catalog: Catalog, release: Release): Catalog {
	const releases = [...catalog.releases, release].sort((a, b) => compare(b.version, a.version));
	const latest = releases.find(({ version }) => prerelease(version) === null)?.version ?? null;
	return { ...catalog, latest, releases };
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
