/**
 * Every firmware the gateway can hand out, releases and the upload, and which of them a device gets. What is handed out
 * is what was written down when it was checked, byte for byte: a file that was changed since reaches no device.
 */

import { basename } from "node:path/posix";
import { compareBuild, parse, rcompare } from "semver";
import { type Chip, chips } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { UpdateRefusal } from "../sessions/updates.js";
import { errorCode } from "../start-error.js";
import { ifThere } from "../whole-file.js";
import type { Catalog, CatalogFile, Release, ReleaseImage } from "./catalog.js";
import type { LoadFile } from "./file-cache.js";
import { HttpProblem } from "./http-problem.js";
import type { ImageFile } from "./image-files.js";
import { ImageError } from "./image-head.js";
import { createRecent } from "./recent.js";
import type { UploadStore } from "./upload-store.js";

/** Where a device finds what was chosen for it. */
export interface Choice {
	/** Path of the URL, from the root. */
	readonly path: string;
	/** Null where the upload was not checked. */
	readonly version: string | null;
	/** SHA-256 of the upload; undefined: a release. */
	readonly upload?: string;
	readonly refusal?: undefined;
}

/** What decides which image fits; what is not known counts as fitting. */
export interface Fit {
	readonly model?: Model | undefined;
	readonly chip?: Chip | undefined;
}

/** What is sent for a path. */
export interface Binary {
	readonly file: ImageFile;
	/** The name under which a browser saves it. */
	readonly filename: string;
	/** As HTTP writes a date. */
	readonly lastModified: string;
	/** "no-cache": it may change at any time; "max-age=<seconds>": it does not. */
	readonly caching: string;
}

export const uploadPath = "/ota/firmware.bin";
const yearInSeconds = 31_536_000;

export interface LibraryOptions {
	readonly catalog: CatalogFile;
	readonly uploads: UploadStore;
	readonly loadImage: LoadFile<ImageFile>;
	/** false: a release's files are held against the catalog alone. */
	readonly checkImages: boolean;
	/** For how long what is handed out need not be looked at on disk again. Default 0. */
	readonly recheckMs?: number;
}

export class Library {
	readonly #options: LibraryOptions;
	readonly #recall: (path: string, load: () => Promise<Binary>) => Promise<Binary>;

	constructor(options: LibraryOptions) {
		this.#options = options;
		this.#recall = createRecent(options.recheckMs ?? 0);
	}

	/**
	 * Finds the image for a device.
	 *
	 * @param version `latest`, `custom` or a semantic version; undefined: the latest release if it has an image for this
	 * device, else the upload
	 */
	async choose(device: Fit, version: string | undefined): Promise<Choice | { refusal: UpdateRefusal }> {
		const { catalog, uploads } = this.#options;
		if (version === "custom") return this.#chooseUpload(device);
		const known = await catalog.read();
		const latest = known.releases.find((release) => release.version === known.latest);
		if (version === undefined && !latest?.images.some((image) => fits(image, device))) {
			if (uploads.current) return this.#chooseUpload(device);
			const detail = `There is no release for ${describe(device)} and no uploaded firmware; add one.`;
			return refuse("no_firmware", detail);
		}
		if (version === undefined || version === "latest") {
			if (latest) return this.#chooseImage(latest, device);
			return refuse("no_firmware", "The catalog has no latest release; make a release, or upload firmware.");
		}
		const asked = parse(version);
		const release = known.releases.find((each) => asked && compareBuild(each.version, asked) === 0);
		if (release) return this.#chooseImage(release, device);
		return refuse("unknown_version", `There is no release "${version}"; ${describeReleases(known)}`);
	}

	#chooseUpload(device: Fit): Choice | { refusal: UpdateRefusal } {
		const upload = this.#options.uploads.current;
		if (!upload) return refuse("no_firmware", "No firmware was uploaded yet; POST one to /ota/upload.");
		if (fits(upload, device))
			return { path: uploadPath, version: upload.version ?? null, upload: upload.sha256 };
		const detail = `The uploaded firmware is for ${describe(upload)}, the device is ${describe(device)}.`;
		return refuse("incompatible_firmware", detail);
	}

	async #chooseImage(release: Release, device: Fit): Promise<Choice | { refusal: UpdateRefusal }> {
		const images = release.images.filter((image) => fits(image, device));
		// Where the chip is not known, the boards' is taken, the first of chips; a model is never guessed.
		const image = chips.flatMap((chip) => images.filter((each) => each.chip === chip))[0];
		const none = `Release ${release.version} has no image for ${describe(device)}.`;
		if (!image) return refuse("incompatible_firmware", none);
		const unclear = "The device's model is not known yet; wait for its first state_report.";
		if (images.some(({ model }) => model !== image.model)) return refuse("incompatible_firmware", unclear);
		try {
			await this.#openImage(release, image);
		} catch (error) {
			if (error instanceof HttpProblem) return refuse("no_firmware", error.message);
			throw error;
		}
		return { path: image.path, version: release.version };
	}

	/**
	 * @param path of the URL
	 * @throws {HttpProblem} 404 where there is no such file, 503 where it is not as it was when it was checked
	 */
	open(path: string): Promise<Binary> {
		if (path !== uploadPath) return this.#recall(path, () => this.#openRelease(path));
		const { current } = this.#options.uploads;
		return this.#recall(`${current?.sha256} ${current?.upload_time}`, () => this.#openUpload());
	}

	async #openUpload(): Promise<Binary> {
		const { uploads, loadImage } = this.#options;
		const upload = uploads.current;
		if (!upload) throw new HttpProblem(404, "No firmware was uploaded yet; POST one to /ota/upload.");
		const { filename, upload_time, sha256 } = upload;
		try {
			const file = await loadImage(uploads.pathOf(upload));
			if (file.sha256 !== sha256) throw new Error("the uploaded firmware has been changed on disk");
			const lastModified = new Date(upload_time).toUTCString();
			return { file, filename, lastModified, caching: "no-cache" };
		} catch (error) {
			// It was replaced, and its file removed, after we had asked which one counts.
			if (errorCode(error) === "ENOENT" && uploads.current !== upload) return this.#openUpload();
			throw error;
		}
	}

	async #openRelease(path: string): Promise<Binary> {
		const { releases } = await this.#options.catalog.read();
		const isIt = (image: ReleaseImage) => image.path === path;
		const release = releases.find(({ images }) => images.some(isIt));
		const image = release?.images.find(isIt);
		if (!release || !image) throw new HttpProblem(404, "The catalog names no such file; see /ota/catalog.");
		const file = await this.#openImage(release, image);
		const lastModified = file.modifiedAt.toUTCString();
		return { file, filename: basename(path), lastModified, caching: `max-age=${yearInSeconds}, immutable` };
	}

	async #openImage(release: Release, image: ReleaseImage): Promise<ImageFile> {
		const { catalog, loadImage } = this.#options;
		const path = await catalog.locate(image);
		const file = path === undefined ? undefined : await ifThere(loadImage(path));
		const problem = file ? this.#findProblem(file, release, image) : "is missing";
		if (file && !problem) return file;
		const detail = `The file ${image.path} ${problem}; make release ${release.version} again.`;
		// It may be made anew at this moment: a device may try again.
		throw new HttpProblem(503, detail, { "Retry-After": "10" });
	}

	#findProblem({ sha256, info }: ImageFile, release: Release, image: ReleaseImage): string | undefined {
		if (sha256 !== image.sha256) return "is not the one in the catalog";
		if (!this.#options.checkImages) return undefined;
		if (info instanceof ImageError) return `is no good image (${info.message})`;
		if (info.model === image.model && info.chip === image.chip && info.version === release.version)
			return undefined;
		return `says that it is ${info.version} for ${describe(info)}, and the catalog says otherwise`;
	}
}

function fits(image: Fit, device: Fit): boolean {
	const isSame = (a: string | undefined, b: string | undefined) => a === b || !a || !b;
	return isSame(image.model, device.model) && isSame(image.chip, device.chip);
}

function describe({ model, chip }: Fit): string {
	return `${model ?? "an unknown model"} (${chip ?? "chip not known"})`;
}

function describeReleases({ releases }: Catalog): string {
	const versions = releases.map(({ version }) => version).sort(rcompare);
	return versions.length === 0 ? "the catalog is empty." : `there are ${versions.slice(0, 5).join(", ")}.`;
}

function refuse(code: UpdateRefusal["code"], message: string): { refusal: UpdateRefusal } {
	return { refusal: { code, message } };
}
