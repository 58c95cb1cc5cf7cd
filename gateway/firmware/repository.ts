/**
 * Every firmware the gateway can hand out, releases and the upload, checked and kept in memory for as long as catalog and
 * file do not change. What is handed out is what was written down when it was checked, byte for byte: a file that was
 * changed since reaches no device, and one that is replaced is never served half old and half new.
 */

import { basename } from "node:path/posix";
import { HttpProblem } from "../problem.js";
import { errorCode } from "../start-error.js";
import { type Disk, ifThere, stateOf } from "../whole-file.js";
import type { CatalogFile, Release, ReleaseImage } from "./catalog.js";
import { describeFit, ImageError } from "./image.js";
import { StoredImage } from "./stored-image.js";
import type { UploadStore } from "./upload-store.js";

/** What is sent for a path. */
export interface Binary {
	readonly image: StoredImage;
	/** The name under which a browser saves it. */
	readonly filename: string;
	/** As HTTP writes a date. */
	readonly lastModified: string;
	/** "no-cache": it may change at any time; "max-age=<seconds>": it does not. */
	readonly caching: string;
}

export const uploadPath = "/ota/firmware.bin";
const yearInSeconds = 31_536_000;

export interface FirmwareRepositoryOptions {
	readonly catalog: CatalogFile;
	readonly uploads: UploadStore;
	readonly disk: Disk;
	/** false: a release's files are held against the catalog alone. */
	readonly checkImages: boolean;
	/** For how long what was handed out need not be looked at on disk again: a device asks for each block. Default 0. */
	readonly recheckMs?: number;
	/** How much is kept in memory; the file used last is kept whatever its size. Default 64 MiB. */
	readonly maxBytes?: number;
}

interface KeptImage {
	/** Of the file, when it was read. */
	readonly state: string;
	readonly size: number;
	readonly image: Promise<StoredImage>;
}

export class FirmwareRepository {
	readonly #options: FirmwareRepositoryOptions;
	/** By path on disk, the one used last is last. */
	readonly #images = new Map<string, KeptImage>();
	/** What was handed out within `recheckMs`, by the path of its URL and the upload's digest. */
	readonly #recent = new Map<string, Promise<Binary>>();

	constructor(options: FirmwareRepositoryOptions) {
		this.#options = options;
	}

	/**
	 * @param path of the URL
	 * @throws {HttpProblem} 404 where there is no such file, 503 where it is not as it was when it was checked
	 */
	open(path: string): Promise<Binary> {
		const { uploads, recheckMs = 0 } = this.#options;
		const key = path === uploadPath ? `${uploads.current?.sha256} ${uploads.current?.upload_time}` : path;
		const recent = this.#recent.get(key);
		if (recent) return recent;
		const binary = path === uploadPath ? this.#openUpload() : this.#openRelease(path);
		if (recheckMs === 0) return binary;
		this.#recent.set(key, binary);
		setTimeout(() => this.#recent.delete(key), recheckMs).unref();
		binary.catch(() => this.#recent.delete(key));
		return binary;
	}

	/** @throws {HttpProblem} 503 where the file is missing or is not the one of the catalog */
	async openImage(release: Release, image: ReleaseImage): Promise<StoredImage> {
		const path = await this.#options.catalog.locate(image);
		const file = path === undefined ? undefined : await ifThere(this.#load(path));
		const problem = file ? this.#findProblem(file, release, image) : "is missing";
		if (file && !problem) return file;
		const detail = `The file ${image.path} ${problem}; make release ${release.version} again.`;
		// It may be being made at this moment: a device may try again.
		throw new HttpProblem(503, detail, { "Retry-After": "10" });
	}

	async #openUpload(): Promise<Binary> {
		const { uploads } = this.#options;
		const upload = uploads.current;
		if (!upload) throw new HttpProblem(404, "No firmware was uploaded yet; POST one to /ota/upload.");
		const { filename, upload_time, sha256 } = upload;
		try {
			const image = await this.#load(uploads.pathOf(upload));
			if (image.sha256 !== sha256) throw new Error("the uploaded firmware has been changed on disk");
			const lastModified = new Date(upload_time).toUTCString();
			return { image, filename, lastModified, caching: "no-cache" };
		} catch (error) {
			// It was replaced, and its file removed, since.
			if (errorCode(error) === "ENOENT" && uploads.current !== upload) return this.#openUpload();
			throw error;
		}
	}

	async #openRelease(path: string): Promise<Binary> {
		const { releases } = await this.#options.catalog.read();
		const isIt = (image: ReleaseImage) => image.path === path;
		const release = releases.find(({ images }) => images.some(isIt));
		const entry = release?.images.find(isIt);
		if (!release || !entry) throw new HttpProblem(404, "The catalog names no such file; see /ota/catalog.");
		const image = await this.openImage(release, entry);
		const lastModified = image.modifiedAt.toUTCString();
		return { image, filename: basename(path), lastModified, caching: `max-age=${yearInSeconds}, immutable` };
	}

	/** @throws {NodeJS.ErrnoException} ENOENT where the file is missing */
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

	#findProblem({ sha256, info }: StoredImage, release: Release, image: ReleaseImage): string | undefined {
		if (sha256 !== image.sha256) return "is not the one in the catalog";
		if (!this.#options.checkImages) return undefined;
		if (info instanceof ImageError) return `is no good image (${info.message})`;
		if (info.model === image.model && info.chip === image.chip && info.version === release.version)
			return undefined;
		return `says that it is ${info.version} for ${describeFit(info)}, and the catalog says otherwise`;
	}
}
