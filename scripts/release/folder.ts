/**
 * Adds releases to the folder that the gateway serves. The catalog is written last and atomically, so it contains only complete
 * releases.
 */

import disk from "node:fs/promises";
import { dirname, join } from "node:path";
import { compare, parse } from "semver";
import { messageOf } from "../../device/message-of.js";
import { matches } from "../../device/protocol/schema.js";
import { channelName, latestStable } from "../../gateway/api/channels.js";
import type { Catalog, Release, ReleaseFile, ReleaseImage } from "../../gateway/api/firmware.js";
import { sha256Of } from "../../gateway/digest.js";
import { parseCatalog } from "../../gateway/firmware/catalog.js";
import { type ImageInfo, parseImage } from "../../gateway/firmware/image.js";
import { errorCode } from "../../gateway/problem.js";
import { writeFileAtomic } from "../../gateway/storage/atomic-file.js";
import { withFileLock } from "../../gateway/storage/file-lock.js";
import { makePatches } from "./patches.js";
import type { Signing } from "./signing.js";

const catalogName = "catalog.json";
/** File mode readable by a gateway of another user. */
const publicMode = 0o644;

/** Maximum length in ESP-IDF's application descriptor, without the terminating zero. */
const longestVersion = 31;

export interface NewRelease {
	/** Semantic version. */
	readonly version: string;
	/** Default: stable, or none for a prerelease. */
	readonly channel?: string | undefined;
	/** For example 2026-11-20. */
	readonly date: string;
	readonly notes: string;
	readonly images: readonly (Uint8Array | InstallableImage)[];
	/** Undefined for an unsigned release. */
	readonly sign?: Signing["sign"];
	/** Called for each patch that is not created. @param sentence reason */
	readonly onSkipped?: (sentence: string) => void;
}

/** Image with all other files for a new board. */
export interface InstallableImage {
	readonly image: Uint8Array;
	/** Offset of the image partition, in bytes. */
	readonly offset: number;
	/** Files except the image and the settings. */
	readonly parts: readonly { readonly name: string; readonly offset: number; readonly bytes: Uint8Array }[];
}

/** Chip names of ESP Web Tools. No other tool accepts those of QEMU and virtual devices. */
const chipFamilies: Readonly<Record<ReleaseImage["chip"], string>> = {
	esp32: "ESP32",
	esp32s3: "ESP32-S3",
	"esp32s3-qemu": "QEMU",
	virtual: "virtual",
};

/** Adds a release. @returns the new catalog @throws Error, which leaves the folder unchanged */
export async function addRelease(releasesDir: string, release: NewRelease): Promise<Catalog> {
	const catalog = await readCatalog(releasesDir);
	requireNew(catalog, release);
	const made = release.images.map((image) => describeFiles(image, release));
	const files = made.flatMap((entry) => entry.files);
	const paths = files.map(({ path }) => path);
	const twice = paths.find((path, index) => paths.indexOf(path) !== index);
	if (twice) throw new Error(`two images of this release would both be ${twice}`);
	const entries: ReleaseImage[] = [];
	for (const { entry, image } of made) {
		const { onSkipped = () => {} } = release;
		const patches = await makePatches(entry, image, { releasesDir, catalog, release, onSkipped });
		files.push(...patches.map((patch) => ({ path: patch.entry.path, bytes: patch.bytes })));
		entries.push({ ...entry, ...(patches.length > 0 && { patches: patches.map((patch) => patch.entry) }) });
	}
	await disk.mkdir(releasesDir, { recursive: true });
	// Images and patches take long, so another process may have added a release meanwhile.
	return withFileLock(disk, join(releasesDir, catalogName), async () => {
		const current = await readCatalog(releasesDir);
		requireNew(current, release);
		const { version, channel, date, notes } = release;
		const added = { version, ...(channel !== undefined && { channel }), date, notes, images: entries };
		return write(releasesDir, files, withRelease(current, added));
	});
}

/** Writes the files, then the catalog. @returns the catalog @throws {NodeJS.ErrnoException} after the files were removed */
async function write(releasesDir: string, files: readonly NewFile[], catalog: Catalog): Promise<Catalog> {
	const written: string[] = [];
	try {
		for (const { path, bytes } of files) {
			const file = join(releasesDir, path.slice("/releases/".length));
			await disk.mkdir(dirname(file), { recursive: true });
			// Replaces files of a failed release.
			await writeFileAtomic(disk, file, bytes, publicMode);
			written.push(file);
		}
		const text = `${JSON.stringify(catalog, null, "\t")}\n`;
		await writeFileAtomic(disk, join(releasesDir, catalogName), text, publicMode);
		return catalog;
	} catch (error) {
		for (const file of written) await disk.rm(file, { force: true });
		throw error;
	}
}

/** @throws Error for an invalid catalog */
export async function readCatalog(releasesDir: string): Promise<Catalog> {
	const file = join(releasesDir, catalogName);
	try {
		return parseCatalog(await disk.readFile(file, "utf8"));
	} catch (error) {
		if (errorCode(error) === "ENOENT") return { schema: 1, latest: null, releases: [] };
		throw new Error(`Invalid catalog ${file}. Repair it first: ${messageOf(error)}`);
	}
}

/** @throws Error for an invalid or existing version, or an invalid channel */
export function requireNew(
	catalog: Catalog,
	{ version, channel }: Pick<NewRelease, "version" | "channel">,
): void {
	if (!/^\d/.test(version) || parse(version)?.raw !== version)
		throw new Error(`"${version}" is not a semantic version such as 1.4.0 or 1.5.0-rc.1`);
	if (version.length > longestVersion)
		throw new Error(
			`"${version}" has ${version.length} characters; shorten it to ${longestVersion}, which an image has room for`,
		);
	const same = catalog.releases.find((release) => compare(release.version, version) === 0)?.version;
	const why = same === version ? "" : `, and the build in ${version} does not make it newer`;
	if (same) throw new Error(`release ${same} exists already${why}; use a new version`);
	if (channel !== undefined && !matches(channelName, channel))
		throw new Error(
			`"${channel}" is no channel: use at most 32 lower-case letters, digits, '_' and '-', as in beta`,
		);
}

interface NewFile {
	/** Path of its URL. */
	readonly path: string;
	readonly bytes: Uint8Array;
}

/** @returns catalog entry of an image without patches, all of its files, and the signature */
function describeFiles(built: Uint8Array | InstallableImage, { version, sign }: NewRelease) {
	const image = built instanceof Uint8Array ? built : built.image;
	const info = inspect(image);
	if (info.version !== version)
		throw new Error(`the image for ${info.model} is of version ${info.version}, not ${version}`);
	const imageFile = { path: `/releases/${folderOf(info)}/firmware-v${version}.bin`, bytes: image };
	const signature = sign?.(image.subarray(0, info.byteLength));
	const flash = built instanceof Uint8Array ? [] : describeFlash(built, info);
	const entry: ReleaseImage = {
		...describeFile(imageFile),
		model: info.model,
		chip: info.chip,
		idf_version: info.idfVersion,
		...(info.imageId !== undefined && { image_id: info.imageId }),
		...(info.securityVersion > 0 && { security_version: info.securityVersion }),
		...(signature !== undefined && { signature }),
		...(flash.length > 0 && { flash: flash.map(describeFile) }),
	};
	// For manual uploads.
	const signatureFile = { path: `${imageFile.path}.sig`, bytes: Buffer.from(`${signature}\n`) };
	return { entry, image, files: [imageFile, ...(signature === undefined ? [] : [signatureFile]), ...flash] };
}

/** Lists the parts, and a manifest of ESP Web Tools, whose paths are relative to it. */
function describeFlash({ offset, parts }: InstallableImage, info: ImageInfo): readonly NewFile[] {
	const folder = `/releases/${folderOf(info)}/flash-v${info.version}`;
	const manifest = {
		name: info.model,
		version: info.version,
		new_install_prompt_erase: true,
		builds: [
			{
				chipFamily: chipFamilies[info.chip],
				parts: [
					...parts.map((part) => ({ path: part.name, offset: part.offset })),
					{ path: `../firmware-v${info.version}.bin`, offset },
				],
			},
		],
	};
	return [
		{ path: `${folder}/flash.json`, bytes: Buffer.from(`${JSON.stringify(manifest, null, "\t")}\n`) },
		...parts.map(({ name, bytes }) => ({ path: `${folder}/${name}`, bytes })),
	];
}

function describeFile({ path, bytes }: NewFile): ReleaseFile {
	return { path, size: bytes.byteLength, sha256: sha256Of(bytes) };
}

/** Folder of a model; images that are not for boards are below the chip name. */
function folderOf({ model, chip }: ImageInfo): string {
	const folder = model.toLowerCase();
	return chip === "esp32s3" ? folder : `${chip}/${folder}`;
}

/** Validates an image like the gateway. */
function inspect(image: Uint8Array): ImageInfo {
	try {
		return parseImage(Buffer.from(image.buffer, image.byteOffset, image.byteLength));
	} catch (error) {
		throw new Error(`the gateway would reject the image: ${messageOf(error)}`);
	}
}

function withRelease(catalog: Catalog, release: Release): Catalog {
	const releases = [...catalog.releases, release].sort((a, b) => compare(b.version, a.version));
	return { ...catalog, latest: latestStable(releases)?.version ?? null, releases };
}
