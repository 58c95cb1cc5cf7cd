/**
 * Every firmware the gateway can hand out, releases and the upload, and which of them a device gets. What is handed out
 * is what was written down when it was checked, byte for byte: a file that was changed since reaches no device.
 */

import { join, sep } from "node:path";
import { compareBuild, parse, rcompare } from "semver";
import type { Chip } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { UpdateRefusal } from "../sessions/updates.js";
import { errorCode } from "../start-error.js";
import type { Disk } from "../whole-file.js";
import type { Catalog, CatalogFile, Release, ReleaseImage } from "./catalog.js";
import type { ImageFile, ImageFiles } from "./image-files.js";
import { ImageError } from "./image-head.js";
import { Recent } from "./recent.js";
import type { Upload, UploadStore } from "./upload-store.js";

/** Where a device finds what was chosen for it. */
export interface Choice {
	/** Path of the URL, from the root. */
	readonly path: string;
	/** Null where the upload was not checked. */
	readonly version: string | null;
	readonly refusal?: undefined;
}

/** What decides which image fits; what is not known counts as fitting. */
export interface Fit {
	readonly model?: Model | undefined;
	readonly chip?: Chip | undefined;
}

/** A file of a release is missing or not what the catalog says; `message` names it. */
export class UnusableRelease extends Error {}

export interface LibraryOptions {
	readonly releasesDir: string;
	readonly catalog: CatalogFile;
	readonly uploads: UploadStore;
	readonly files: ImageFiles;
	readonly disk: Disk;
	/** false: a release's files are held against the catalog alone. */
	readonly checkImages: boolean;
	/** For how long what is handed out need not be looked at on disk again. Default 0. */
	readonly recheckMs?: number;
}

type OpenUpload = { readonly upload: Upload; readonly file: ImageFile } | undefined;

export class Library {
	readonly #options: LibraryOptions;
	readonly #releases: Recent<ImageFile | undefined>;
	readonly #uploads: Recent<OpenUpload>;

	constructor(options: LibraryOptions) {
		this.#options = options;
		const age = { maxAgeMs: options.recheckMs ?? 0, now: () => performance.now() };
		this.#releases = new Recent(age);
		this.#uploads = new Recent(age);
	}

	/**
	 * Finds the image for a device.
	 *
	 * @param version `latest`, `custom` or a semantic version; undefined: the latest release if it has an image for this
	 * device, else the upload
	 */
	async choose(device: Fit, version: string | undefined): Promise<Choice | { refusal: UpdateRefusal }> {
		if (version === "custom") return this.#chooseUpload(device);
		const catalog = await this.#options.catalog.read();
		const latest = catalog.releases.find((release) => release.version === catalog.latest);
		if (version === undefined) {
			if (latest?.images.some((image) => fits(image, device))) return this.#chooseImage(latest, device);
			if (this.#options.uploads.current) return this.#chooseUpload(device);
			return refuse(
				"no_firmware",
				`There is no release for ${describe(device)} and no uploaded firmware; add one.`,
			);
		}
		if (version === "latest") {
			if (latest) return this.#chooseImage(latest, device);
			return refuse("no_firmware", "The catalog has no latest release; make a release, or upload firmware.");
		}
		const asked = parse(version);
		const release = catalog.releases.find(
			(candidate) => asked && compareBuild(candidate.version, asked) === 0,
		);
		if (release) return this.#chooseImage(release, device);
		return refuse("unknown_version", `There is no release "${version}"; ${describeReleases(catalog)}`);
	}

	/** @returns the upload and its bytes; undefined before the first */
	openUpload(): Promise<OpenUpload> {
		const { current } = this.#options.uploads;
		return this.#uploads.get(`${current?.sha256} ${current?.upload_time}`, () => this.#openUpload());
	}

	async #openUpload(): Promise<OpenUpload> {
		const { uploads, files } = this.#options;
		const upload = uploads.current;
		if (!upload) return undefined;
		try {
			const file = await files.load(uploads.pathOf(upload));
			if (file.sha256 !== upload.sha256) throw new Error("the uploaded firmware has been changed on disk");
			return { upload, file: { ...file, modifiedAt: new Date(upload.upload_time) } };
		} catch (error) {
			// It was replaced, and its file removed, after we had asked which one counts.
			if (errorCode(error) === "ENOENT" && uploads.current !== upload) return this.#openUpload();
			throw error;
		}
	}

	/**
	 * @param path of the URL, as in the catalog
	 * @returns undefined where no release has such a file
	 * @throws {UnusableRelease}
	 */
	openRelease(path: string): Promise<ImageFile | undefined> {
		return this.#releases.get(path, () => this.#openRelease(path));
	}

	async #openRelease(path: string): Promise<ImageFile | undefined> {
		const { releases } = await this.#options.catalog.read();
		for (const release of releases)
			for (const image of release.images) if (image.path === path) return this.#openImage(release, image);
		return undefined;
	}

	#chooseUpload(device: Fit): Choice | { refusal: UpdateRefusal } {
		const upload = this.#options.uploads.current;
		if (!upload) return refuse("no_firmware", "No firmware was uploaded yet; POST one to /ota/upload.");
		if (fits(upload, device)) return { path: "/ota/firmware.bin", version: upload.version ?? null };
		return refuse(
			"incompatible_firmware",
			`The uploaded firmware is for ${describe(upload)}, the device is ${describe(device)}.`,
		);
	}

	async #chooseImage(release: Release, device: Fit): Promise<Choice | { refusal: UpdateRefusal }> {
		const images = release.images.filter((image) => fits(image, device));
		// Where the chip is not known, a board is the better guess; where the model is not, guessing helps nobody.
		const image = images.find(({ chip }) => chip !== "virtual") ?? images[0];
		if (!image)
			return refuse(
				"incompatible_firmware",
				`Release ${release.version} has no image for ${describe(device)}.`,
			);
		if (images.some(({ model }) => model !== image.model))
			return refuse(
				"incompatible_firmware",
				"The device's model is not known yet; wait for its first state_report.",
			);
		try {
			await this.#openImage(release, image);
		} catch (error) {
			if (error instanceof UnusableRelease) return refuse("no_firmware", error.message);
			throw error;
		}
		return { path: image.path, version: release.version };
	}

	async #openImage(release: Release, image: ReleaseImage): Promise<ImageFile> {
		const file = await this.#load(image.path);
		const problem = file ? this.#findProblem(file, release, image) : "is missing";
		if (!file || problem)
			throw new UnusableRelease(`The file ${image.path} ${problem}; make release ${release.version} again.`);
		return file;
	}

	#findProblem({ sha256, info }: ImageFile, release: Release, image: ReleaseImage): string | undefined {
		if (sha256 !== image.sha256) return "is not the one in the catalog";
		if (!this.#options.checkImages) return undefined;
		if (info instanceof ImageError) return `is no good image (${info.message})`;
		if (info.model === image.model && info.chip === image.chip && info.version === release.version)
			return undefined;
		return `says that it is ${info.version} for ${describe(info)}, and the catalog says otherwise`;
	}

	/** Only what lies inside the folder, wherever links lead. */
	async #load(path: string): Promise<ImageFile | undefined> {
		const { releasesDir, disk, files } = this.#options;
		try {
			const folder = await disk.realpath(releasesDir);
			const target = await disk.realpath(join(folder, path.slice("/releases/".length)));
			return target.startsWith(folder + sep) ? await files.load(target) : undefined;
		} catch (error) {
			if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
			throw error;
		}
	}
}

function fits(image: Fit, device: Fit): boolean {
	return (
		(image.model ?? device.model) === (device.model ?? image.model) &&
		(image.chip ?? device.chip) === (device.chip ?? image.chip)
	);
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
