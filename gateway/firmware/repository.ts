/**
 * Firmware served by the gateway, validated and cached in memory until catalog or file changes. Serves exactly the validated
 * bytes: a file that is replaced on disk is never sent in part.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { basename } from "node:path/posix";
import type { Release, ReleaseFile, ReleaseImage } from "../api/firmware.js";
import { forever, type ServedFile } from "../http/file.js";
import { RequestError } from "../problem.js";
import { type Disk, ifThere, stateOf } from "../storage/atomic-file.js";
import type { Releases } from "./catalog.js";
import { describeFit, ImageError, type ImageInfo, ImageParser } from "./image.js";
import { findSignatureProblem, type ReleaseKeys } from "./release-keys.js";
import type { UploadStore } from "./upload-store.js";

/** Only digests of aligned parts are cached, so that odd ranges cannot fill the memory. */
const alignment = 4096;
/** Devices ask for 16 KiB; hashing longer parts would delay other clients. */
const longestPartBytes = 64 * 1024;
/** Read and checked in one step; other requests are answered in between. */
const readBytes = 1 << 20;
/** A named pipe without a writer is opened at once, as an empty file. */
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A firmware file in memory, with the digests of its blocks, which are computed once for all devices. */
export class StoredImage {
	readonly bytes: Buffer;
	readonly modifiedAt: Date;
	/** In hex. */
	readonly sha256: string;
	/** Content of the image's descriptors, or the reason why it is invalid. */
	readonly info: ImageInfo | ImageError;
	readonly #whole: string;
	/** In base64, by "first-last". */
	readonly #digests = new Map<string, string>();
	#checked: { readonly signature: string | undefined; readonly problem: string | undefined } | undefined;

	private constructor(bytes: Buffer, { sha256, info }: ReturnType<ImageParser["end"]>, modifiedAt: Date) {
		this.bytes = bytes;
		this.modifiedAt = modifiedAt;
		this.#whole = sha256.toString("base64");
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
				if (bytesRead === 0) throw new Error(`${path} was cut while it was read`);
				parser.write(bytes.subarray(offset, offset + bytesRead));
				offset += bytesRead;
			}
			return new StoredImage(bytes, parser.end(), mtime);
		} finally {
			await handle.close();
		}
	}

	/** Verified once for each signature. @param keys always the same @returns what is wrong with it, if anything */
	findSignatureProblem(keys: ReleaseKeys, signature: string | undefined): string | undefined {
		if (this.#checked && this.#checked.signature === signature) return this.#checked.problem;
		const { sha256 } = this.info instanceof ImageError ? this : this.info;
		const problem = findSignatureProblem(keys, sha256, signature);
		this.#checked = { signature, problem };
		return problem;
	}

	/** @returns SHA-256 of a part in base64, both ends included; undefined if it is longer than 64 KiB and not the whole */
	digestOf(first: number, last: number): string | undefined {
		const end = last + 1;
		const { length } = this.bytes;
		if (end - first === length) return this.#whole;
		if (end - first > longestPartBytes) return undefined;
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

/** Which image of a release is asked for; undefined: any. In lower case. */
interface ImageQuery {
	readonly model: string | undefined;
	readonly chip: string | undefined;
}

/** Returns the URL of an image: the path of its version, and a query with model and chip. */
export function releaseAddress({ version }: Release, { model, chip }: ReleaseImage): string {
	return `/releases/firmware-v${version}.bin?model=${model.toLowerCase()}&chip=${chip}`;
}

export interface FirmwareRepositoryOptions {
	readonly catalog: Releases;
	readonly uploads: UploadStore;
	readonly disk: Disk;
	/** false: only the digests of releases are checked, and signatures. */
	readonly checkImages: boolean;
	/** By one of which releases are signed. */
	readonly releaseKeys: ReleaseKeys;
	/** How long a result is reused without a look at the disk. Default 0. */
	readonly recheckMs?: number;
	/** Size of the cache; the file used last always stays. Default 64 MiB. */
	readonly maxBytes?: number;
}

interface KeptImage {
	/** From `stateOf`, when it was read. */
	readonly state: string;
	readonly size: number;
	readonly image: Promise<StoredImage>;
}

export class FirmwareRepository {
	readonly #options: FirmwareRepositoryOptions;
	/** By path on disk, least recently used first. */
	readonly #images = new Map<string, KeptImage>();
	/** By the URL's path and query, or the upload's digest and time. */
	readonly #recent = new Map<string, Promise<ServedFile>>();

	constructor(options: FirmwareRepositoryOptions) {
		this.#options = options;
	}

	/**
	 * @param search the URL's query: which of the images, where the path names only the version
	 * @returns the file; the one that was opened in the last `recheckMs`, if it was
	 * @throws {RequestError} 404 if there is no such file, 503 if it differs from the catalog
	 * @throws {URIError} if the path is not well formed
	 */
	open(path: string, search = ""): Promise<ServedFile> {
		const { recheckMs = 0 } = this.#options;
		const key = this.#keyOf(path, search);
		const known = this.#recent.get(key);
		if (known) return known;
		const opening = path === uploadPath ? this.#openUpload() : this.#openRelease(path, search);
		if (recheckMs === 0) return opening;
		this.#recent.set(key, opening);
		setTimeout(() => this.#recent.delete(key), recheckMs).unref();
		opening.catch(() => this.#recent.delete(key));
		return opening;
	}

	#keyOf(path: string, search: string): string {
		if (path !== uploadPath) return path + search;
		const { current } = this.#options.uploads;
		return `${current?.sha256} ${current?.upload_time}`;
	}

	/** @throws {RequestError} 503 if the file is missing or differs from the catalog */
	openImage(release: Release, image: ReleaseImage): Promise<StoredImage> {
		return this.#openFile(release, image, (file) => this.#findProblem(file, release, image));
	}

	/** @param file beside an image @throws {RequestError} as `openImage` */
	openPart(release: Release, file: ReleaseFile): Promise<StoredImage> {
		return this.#openFile(release, file, ({ sha256 }) => differsFrom(file, sha256));
	}

	async #openUpload(): Promise<ServedFile> {
		const { uploads, disk } = this.#options;
		const upload = uploads.current;
		if (!upload) throw new RequestError(404, "No firmware was uploaded yet; POST one to /ota/upload.");
		const { filename, upload_time, sha256 } = upload;
		const path = await uploads.path(upload);
		const file = path === undefined ? undefined : await ifThere(disk.realpath(path));
		const image = file === undefined ? undefined : await ifThere(this.#load(file));
		if (!image) {
			// Replaced meanwhile, and its file removed.
			if (uploads.current !== upload) return this.#openUpload();
			throw new RequestError(503, "The uploaded firmware is missing; upload it again.");
		}
		if (image.sha256 !== sha256) throw new Error("the uploaded firmware has been changed on disk");
		const lastModified = new Date(upload_time).toUTCString();
		return { content: image, filename, lastModified, caching: "no-cache" };
	}

	async #openRelease(encodedPath: string, search: string): Promise<ServedFile> {
		const path = decodeURIComponent(encodedPath);
		const query = new URLSearchParams(search);
		const [model, chip] = ["model", "chip"].map((name) => query.get(name)?.toLowerCase());
		const { releases } = await this.#options.catalog.read();
		const image =
			(await this.#openVersion(releases, path, { model, chip })) ?? (await this.#openNamed(releases, path));
		if (!image) throw new RequestError(404, "The catalog names no such file; see /ota/catalog.");
		const lastModified = image.modifiedAt.toUTCString();
		return { content: image, filename: basename(path), lastModified, caching: forever };
	}

	/** @returns undefined if no release names it */
	async #openNamed(releases: readonly Release[], path: string): Promise<StoredImage | undefined> {
		for (const release of releases)
			for (const image of release.images) {
				if (image.path === path) return this.openImage(release, image);
				const { flash = [], patches = [] } = image;
				const file = [...flash, ...patches].find((each) => each.path === path);
				if (file) return this.openPart(release, file);
			}
		return undefined;
	}

	/**
	 * @returns undefined if the path is not that of a release's version
	 * @throws {RequestError} 404 if the query fits none of its images, or several
	 */
	async #openVersion(
		releases: readonly Release[],
		path: string,
		{ model, chip }: ImageQuery,
	): Promise<StoredImage | undefined> {
		const release = releases.find(({ version }) => path === `/releases/firmware-v${version}.bin`);
		if (!release) return undefined;
		const images = release.images.filter(
			(image) =>
				(model ?? image.model.toLowerCase()) === image.model.toLowerCase() &&
				(chip ?? image.chip) === image.chip,
		);
		const image = images.length === 1 ? images[0] : images.find((each) => each.path === path);
		if (image) return this.openImage(release, image);
		const ways = release.images.map((each) => releaseAddress(release, each).replace(path, ""));
		const what = images.length > 0 ? "has several images" : "has no such image";
		throw new RequestError(
			404,
			`Release ${release.version} ${what}; add one of ${ways.join(", ")} to its address.`,
		);
	}

	/** @throws {RequestError} 503 if the file is missing or `findProblem` finds one */
	async #openFile(
		{ version }: Release,
		entry: ReleaseFile,
		findProblem: (file: StoredImage) => string | undefined,
	): Promise<StoredImage> {
		const path = await this.#options.catalog.locate(entry);
		const file = path === undefined ? undefined : await ifThere(this.#load(path));
		const problem = file ? findProblem(file) : "is missing";
		if (file && !problem) return file;
		const detail = `The file ${entry.path} ${problem}; make release ${version} again.`;
		// The release may just be being written.
		throw new RequestError(503, detail, { "Retry-After": "10" });
	}

	/** @throws {NodeJS.ErrnoException} ENOENT if the file is missing */
	async #load(path: string): Promise<StoredImage> {
		const { disk } = this.#options;
		const { size, state } = await stateOf(disk, path);
		const known = this.#images.get(path);
		const kept = known?.state === state ? known : { state, size, image: StoredImage.read(disk, path) };
		this.#images.delete(path);
		this.#images.set(path, kept);
		kept.image.catch(() => this.#images.get(path) === kept && this.#images.delete(path));
		this.#evict();
		return kept.image;
	}

	#evict(): void {
		const { maxBytes = 64 << 20 } = this.#options;
		let total = 0;
		for (const [path, { size }] of [...this.#images].reverse()) {
			if (total > 0 && total + size > maxBytes) this.#images.delete(path);
			total += size;
		}
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
		return `is ${info.version} for ${describeFit(info)}, which differs from the catalog`;
	}
}

function differsFrom(entry: ReleaseFile, sha256: string): string | undefined {
	return sha256 === entry.sha256 ? undefined : "is not the one in the catalog";
}
