/**
 * Firmware served by the gateway, validated and cached in memory until the catalog or the file changes. Only validated bytes are
 * served, so a file that is being replaced on disk is never sent partially.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { basename } from "node:path/posix";
import type { Release, ReleaseFile, ReleaseImage } from "../api/firmware.js";
import { forever, type ServedFile } from "../http/file.js";
import { errorCode, RejectedError, RequestError } from "../problem.js";
import { type Disk, ifExists, stateOf } from "../storage/atomic-file.js";
import { Cache } from "../storage/cache.js";
import type { CatalogFile } from "./catalog.js";
import { describeFit, ImageError, type ImageInfo, ImageParser } from "./image.js";
import { findSignatureProblem, type ReleaseKeys } from "./release-keys.js";
import { describeImage, type Upload, type UploadStore } from "./upload-store.js";

/** Alignment of ranges whose digests are cached. Others are not, so that arbitrary ranges cannot exhaust the memory. */
const alignment = 4096;
/** Limit of ranges with a digest. Devices request 16 KiB; hashing longer ranges would delay other clients. */
const maxDigestBytes = 64 * 1024;
/** Number of files in memory, of at most 7 MB each. */
const maxImages = 16;
/** Number of bytes read and validated per turn of the event loop. */
const readBytes = 1 << 20;
/** Flags for reading. Without O_NONBLOCK, opening a named pipe would block until it has a writer. */
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Firmware file in memory with cached digests of its blocks. */
export class StoredImage {
	readonly bytes: Buffer;
	readonly modifiedAt: Date;
	/** Hexadecimal. */
	readonly sha256: string;
	/** Content of the image's descriptors, or the reason why the image is invalid. */
	readonly info: ImageInfo | ImageError;
	/** SHA-256 of the file in base64. */
	readonly #digest: string;
	/** SHA-256 of blocks in base64, by "first-last". */
	readonly #digests = new Map<string, string>();
	/** Latest result of the signature verification. */
	#verified: { readonly signature: string | undefined; readonly problem: string | undefined } | undefined;

	private constructor(bytes: Buffer, { sha256, info }: ReturnType<ImageParser["end"]>, modifiedAt: Date) {
		this.bytes = bytes;
		this.modifiedAt = modifiedAt;
		this.#digest = sha256.toString("base64");
		this.sha256 = sha256.toString("hex");
		this.info = info;
	}

	/** @throws {NodeJS.ErrnoException} ENOENT if the file is missing */
	static async read(disk: Disk, path: string): Promise<StoredImage> {
		const handle = await disk.open(path, readOnly);
		try {
			const { size, mtime } = await handle.stat();
			const bytes = Buffer.allocUnsafeSlow(size);
			const parser = new ImageParser();
			for (let offset = 0; offset < size; ) {
				const { bytesRead } = await handle.read(bytes, offset, Math.min(readBytes, size - offset), offset);
				if (bytesRead === 0) throw new Error(`${path} was truncated during the read`);
				parser.write(bytes.subarray(offset, offset + bytesRead));
				offset += bytesRead;
			}
			return new StoredImage(bytes, parser.end(), mtime);
		} finally {
			await handle.close();
		}
	}

	/**
	 * Verifies a signature, once.
	 * @param keys the same at each call
	 * @returns problem; undefined if the signature is valid
	 */
	findSignatureProblem(keys: ReleaseKeys, signature: string | undefined): string | undefined {
		if (this.#verified && this.#verified.signature === signature) return this.#verified.problem;
		const { sha256 } = this.info instanceof ImageError ? this : this.info;
		const problem = findSignatureProblem(keys, sha256, signature);
		this.#verified = { signature, problem };
		return problem;
	}

	/**
	 * @param last offset of the last byte, inclusive
	 * @returns SHA-256 of a range in base64; undefined if it is longer than 64 KiB and not the whole file
	 */
	digestOf(first: number, last: number): string | undefined {
		const end = last + 1;
		const { length } = this.bytes;
		if (end - first === length) return this.#digest;
		if (end - first > maxDigestBytes) return undefined;
		const key = `${first}-${last}`;
		const known = this.#digests.get(key);
		if (known) return known;
		const digest = createHash("sha256").update(this.bytes.subarray(first, end)).digest("base64");
		const isBlock = first % alignment === 0 && (end % alignment === 0 || end === length);
		if (isBlock && this.#digests.size < length / alignment) this.#digests.set(key, digest);
		return digest;
	}
}

export const uploadPath = "/ota/firmware.bin";

/** Returns path and query of an image's URL: the path contains the version, the query model and chip. */
export function releaseAddress({ version }: Release, { model, chip }: ReleaseImage): string {
	return `/releases/firmware-v${version}.bin?model=${model.toLowerCase()}&chip=${chip}`;
}

export interface FirmwareRepositoryOptions {
	readonly catalog: CatalogFile;
	readonly uploads: UploadStore;
	readonly disk: Disk;
	/** Whether images are validated. Digests and signatures are verified in any case. */
	readonly checkImages: boolean;
	/** Keys, one of which must have signed each image. */
	readonly releaseKeys: ReleaseKeys;
	/** Time for which a result is reused without checking the disk. Default 0. */
	readonly recheckMs?: number;
}

export class FirmwareRepository {
	readonly #options: FirmwareRepositoryOptions;
	/** Files by path and state on disk. */
	readonly #images = new Cache<StoredImage>(maxImages);
	/** Recently opened files by path and query of the URL; of the upload by query, digest and time. */
	readonly #recent = new Map<string, Promise<ServedFile>>();

	constructor(options: FirmwareRepositoryOptions) {
		this.#options = options;
	}

	/**
	 * Opens a file, or returns the one opened in the last `recheckMs`.
	 * @param search query of the URL: selects an image if the path contains only the version, and may have the expected `sha256`
	 * @throws {RequestError} 404 if the file does not exist, 410 if it was replaced, 503 if it differs from the catalog; see also
	 * `openUpload`
	 * @throws {URIError} if the path is malformed
	 */
	open(path: string, search = ""): Promise<ServedFile> {
		const { recheckMs = 0 } = this.#options;
		const key = this.#keyOf(path, search);
		const known = this.#recent.get(key);
		if (known) return known;
		const opening = path === uploadPath ? this.#serveUpload(search) : this.#openRelease(path, search);
		if (recheckMs === 0) return opening;
		this.#recent.set(key, opening);
		setTimeout(() => this.#recent.delete(key), recheckMs).unref();
		opening.catch(() => this.#recent.delete(key));
		return opening;
	}

	#keyOf(path: string, search: string): string {
		if (path !== uploadPath) return path + search;
		const { current } = this.#options.uploads;
		return `${search} ${current?.sha256} ${current?.upload_time}`;
	}

	/** @throws {RequestError} 503 if the file is missing or differs from the catalog */
	openImage(release: Release, image: ReleaseImage): Promise<StoredImage> {
		return this.#openFile(release, image, (file) => this.#findProblem(file, release, image));
	}

	/** @param file patch or installation file of an image @throws {RequestError} like `openImage` */
	openPart(release: Release, file: ReleaseFile): Promise<StoredImage> {
		return this.#openFile(release, file, ({ sha256 }) => differsFrom(file, sha256));
	}

	/**
	 * Opens the upload if it may be installed with the present keys and checks, which may be stricter than when it was stored.
	 * @returns the upload as described by its image
	 * @throws {RequestError} 404 without an upload, 410 if it may not be installed, 503 if its file is missing or was modified
	 */
	async openUpload(): Promise<{ readonly upload: Upload; readonly image: StoredImage }> {
		const { uploads, disk, checkImages, releaseKeys } = this.#options;
		const upload = uploads.current;
		if (!upload)
			throw new RequestError(404, "No firmware has been uploaded. Upload it with POST /ota/upload.");
		const path = await uploads.path(upload);
		const file = path === undefined ? undefined : await ifExists(disk.realpath(path));
		const image = file === undefined ? undefined : await ifExists(this.#load(file));
		if (!image) {
			// The upload may have been replaced and its file removed meanwhile.
			if (uploads.current !== upload) return this.openUpload();
			throw new RequestError(503, "The uploaded firmware is missing. Upload it again.");
		}
		if (image.sha256 !== upload.sha256)
			throw new RequestError(503, "The uploaded firmware was modified on disk. Upload it again.");
		const problem = image.findSignatureProblem(releaseKeys, upload.signature);
		if (problem)
			throw new RequestError(410, `The uploaded firmware ${problem}. Upload a signed image (RELEASE_KEYS).`);
		if (!checkImages) return { upload, image };
		const { info } = image;
		if (info instanceof ImageError)
			throw new RequestError(
				410,
				`The uploaded firmware is not a valid image (IMAGE_CHECK). ${info.message}`,
			);
		return { upload: { ...upload, ...describeImage(info) }, image };
	}

	/** @returns the upload, with the reason if it is not offered; undefined without one */
	async describeUpload(): Promise<(Upload & { readonly problem?: string }) | undefined> {
		const { current } = this.#options.uploads;
		if (!current) return undefined;
		try {
			return (await this.openUpload()).upload;
		} catch (error) {
			const unreadable = `The uploaded firmware cannot be read (${errorCode(error) ?? error}).`;
			return { ...current, problem: error instanceof RejectedError ? error.rejection.detail : unreadable };
		}
	}

	async #serveUpload(search: string): Promise<ServedFile> {
		const { upload, image } = await this.openUpload();
		requireDigest(image, new URLSearchParams(search));
		const lastModified = new Date(upload.upload_time).toUTCString();
		return { content: image, filename: upload.filename, lastModified, caching: "no-cache" };
	}

	async #openRelease(encodedPath: string, search: string): Promise<ServedFile> {
		const path = decodeURIComponent(encodedPath);
		const query = new URLSearchParams(search);
		const { releases } = await this.#options.catalog.read();
		const image = (await this.#openVersion(releases, path, query)) ?? (await this.#openNamed(releases, path));
		if (!image)
			throw new RequestError(404, "File not found in the catalog. GET /ota/catalog lists all files.");
		requireDigest(image, query);
		const lastModified = image.modifiedAt.toUTCString();
		return { content: image, filename: basename(path), lastModified, caching: forever };
	}

	/**
	 * Opens a file by its path in the catalog. Patches and installation files are served only if their image is.
	 * @returns undefined if it is not in the catalog
	 */
	async #openNamed(releases: readonly Release[], path: string): Promise<StoredImage | undefined> {
		for (const release of releases)
			for (const image of release.images) {
				if (image.path === path) return this.openImage(release, image);
				const { flash = [], patches = [] } = image;
				const file = [...flash, ...patches].find((candidate) => candidate.path === path);
				if (!file) continue;
				await this.openImage(release, image);
				return this.openPart(release, file);
			}
		return undefined;
	}

	/**
	 * Opens an image by version, model and chip.
	 * @returns undefined if the path does not contain the version of a release
	 * @throws {RequestError} 404 if the query matches no image or several
	 */
	async #openVersion(
		releases: readonly Release[],
		path: string,
		query: URLSearchParams,
	): Promise<StoredImage | undefined> {
		const release = releases.find(({ version }) => path === `/releases/firmware-v${version}.bin`);
		if (!release) return undefined;
		const images = release.images.filter((image) =>
			(["model", "chip"] as const).every((name) => {
				const asked = query.get(name) ?? image[name];
				return asked.toLowerCase() === image[name].toLowerCase();
			}),
		);
		const image = images.length === 1 ? images[0] : images.find((candidate) => candidate.path === path);
		if (image) return this.openImage(release, image);
		const queries = release.images.map((releaseImage) =>
			releaseAddress(release, releaseImage).replace(path, ""),
		);
		const problem = images.length > 0 ? "has several images" : "has no matching image";
		throw new RequestError(
			404,
			`Release ${release.version} ${problem}. Append one of ${queries.join(", ")} to the URL.`,
		);
	}

	/** @throws {RequestError} 503 if the file is missing or `findProblem` returns a problem */
	async #openFile(
		{ version }: Release,
		entry: ReleaseFile,
		findProblem: (file: StoredImage) => string | undefined,
	): Promise<StoredImage> {
		const path = await this.#options.catalog.locate(entry);
		const file = path === undefined ? undefined : await ifExists(this.#load(path));
		const problem = file ? findProblem(file) : "is missing";
		if (file && !problem) return file;
		const detail = `The file ${entry.path} ${problem}. Build release ${version} again.`;
		// The release may be in the process of being written.
		throw new RequestError(503, detail, { "Retry-After": "10" });
	}

	/** @throws {NodeJS.ErrnoException} ENOENT if the file is missing */
	async #load(path: string): Promise<StoredImage> {
		const { disk } = this.#options;
		const state = await stateOf(disk, path);
		return this.#images.get(`${path} ${state}`, () => StoredImage.read(disk, path));
	}

	#findProblem(file: StoredImage, release: Release, image: ReleaseImage): string | undefined {
		const { sha256, info } = file;
		const { releaseKeys, checkImages } = this.#options;
		const problem = differsFrom(image, sha256) ?? file.findSignatureProblem(releaseKeys, image.signature);
		if (problem) return problem;
		if (!checkImages) return undefined;
		if (info instanceof ImageError) return `is not a valid image (${info.message})`;
		const isSame = info.securityVersion === (image.security_version ?? 0) && info.version === release.version;
		if (info.model === image.model && info.chip === image.chip && isSame) return undefined;
		return `contains ${info.version} for ${describeFit(info)}, which differs from the catalog`;
	}
}

/** @throws {RequestError} 410 if the query names the SHA-256 of another file */
function requireDigest({ sha256 }: StoredImage, query: URLSearchParams): void {
	if ((query.get("sha256") ?? sha256) === sha256) return;
	throw new RequestError(
		410,
		"The firmware at this address was replaced by another image. Start the update again.",
	);
}

function differsFrom(entry: ReleaseFile, sha256: string): string | undefined {
	return sha256 === entry.sha256 ? undefined : "does not match the catalog";
}
