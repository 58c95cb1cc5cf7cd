/** Selects the firmware for a device, by requested version, model and chip. */

import { compareBuild, parse, rcompare } from "semver";
import { chips } from "../../device/protocol/messages.js";
import { channelOf, latestOf } from "../api/channels.js";
import type { Catalog, Release, ReleaseImage } from "../api/firmware.js";
import { errorCode, RejectedError, RequestError } from "../problem.js";
import type { CatalogFile } from "./catalog.js";
import { describeFit, type Fit, fits, ImageError } from "./image.js";
import type { RejectedUpdate, UpdateRejection } from "./rejections.js";
import { type FirmwareRepository, releaseAddress, type StoredImage, uploadPath } from "./repository.js";
import type { Upload, UploadStore } from "./upload-store.js";

export interface Choice {
	/** Path and query of the URL, with the SHA-256 of the image, so that no other image is installed if it is replaced. */
	readonly path: string;
	/** Null if the upload was not validated. */
	readonly version: string | null;
	readonly sha256: string;
	/** `system.image` of a device that runs the image; undefined if unknown. */
	readonly imageId?: string | undefined;
	/** SHA-256 of the upload; undefined for a release. */
	readonly upload?: string;
	/** Signature for `start_ota`; undefined: not signed. */
	readonly signature?: string | undefined;
	/** Patch for the current firmware of the device: path of its URL, and SHA-256 of both images. */
	readonly patch?: { readonly path: string; readonly from: string; readonly to: string };
	readonly rejection?: undefined;
}

/** Firmware requested by a rollout plan. */
export interface RequestedFirmware {
	/** `latest`, `custom` or a semantic version. */
	readonly version?: string | undefined;
	readonly channel?: string | undefined;
}

/** Firmware of a rollout, fixed at its start. */
export interface Pinned {
	readonly version: string;
	/** Requested channel; absent if a version was requested. */
	readonly channel?: string;
	readonly source: "release" | "upload";
	readonly images: readonly (Pick<Upload, "model" | "chip" | "sha256"> & ReturnType<typeof identify>)[];
}

export interface SelectionOptions {
	readonly catalog: CatalogFile;
	readonly uploads: UploadStore;
	readonly repository: FirmwareRepository;
	/** Called once for each patch whose current file cannot be used. */
	readonly onProblem: (sentence: string) => void;
}

/** Properties of a device. An unknown value matches every image. */
export interface DeviceFit extends Fit {
	readonly securityVersion?: number | undefined;
	/** Version that the device runs; null or undefined if unknown, or if the device does not support patches. */
	readonly patchable?: string | null | undefined;
}

export class Selection {
	readonly #options: SelectionOptions;
	/** Reported problems of patches, by path. */
	readonly #problems = new Map<string, string>();

	constructor(options: SelectionOptions) {
		this.#options = options;
	}

	/**
	 * Finds the image for a device.
	 * @param version `latest`, `custom` or a semantic version; undefined: the latest release if it has an image for
	 * this device, otherwise the upload
	 */
	async choose(device: DeviceFit, version: string | undefined): Promise<Choice | RejectedUpdate> {
		const { catalog, uploads } = this.#options;
		if (version === "custom") return this.#chooseUpload(device);
		const release = findRelease(await catalog.read(), version ?? "latest");
		const isFound = !("rejection" in release);
		if (version === undefined && !(isFound && release.images.some((image) => fits(image, device)))) {
			if (uploads.current) return this.#chooseUpload(device);
			const detail = `No release for ${describeFit(device)} and no uploaded firmware found. Build a release, or upload firmware.`;
			return reject("no_firmware", detail);
		}
		return isFound ? this.#chooseImage(release, device) : release;
	}

	/**
	 * Determines version and images of a rollout.
	 * @param requested `version` is `latest`, `custom` or a semantic version, ignored with a channel, whose latest
	 * release is selected
	 */
	async pin({ version = "latest", channel }: RequestedFirmware): Promise<Pinned | RejectedUpdate> {
		if (channel === undefined && version === "custom") {
			const opened = await rejectUnusable(this.#options.repository.openUpload());
			if ("rejection" in opened) return opened;
			const { version: uploaded, model, chip, sha256 } = opened.upload;
			if (uploaded === undefined)
				return reject(
					"unknown_version",
					"The version of the uploaded firmware is unknown. Upload a valid image.",
				);
			return {
				version: uploaded,
				source: "upload",
				images: [{ ...(model && { model }), ...(chip && { chip }), sha256, ...identify(opened.image) }],
			};
		}
		const known = await this.#options.catalog.read();
		const release = channel === undefined ? findRelease(known, version) : findLatest(known, channel);
		if ("rejection" in release) return release;
		const images = release.images.map(({ model, chip, sha256, image_id: imageId }) => ({
			model,
			chip,
			sha256,
			...(imageId !== undefined && { imageId }),
		}));
		return { version: release.version, ...(channel !== undefined && { channel }), source: "release", images };
	}

	async #chooseUpload(device: DeviceFit): Promise<Choice | RejectedUpdate> {
		const opened = await rejectUnusable(this.#options.repository.openUpload());
		if ("rejection" in opened) return opened;
		const { upload, image } = opened;
		const detail = `The uploaded firmware is for ${describeFit(upload)}, but the device is ${describeFit(device)}.`;
		if (!fits(upload, device)) return reject("incompatible_firmware", detail, true);
		const { version = null, sha256, signature } = upload;
		const rejection = rejectDowngrade("The uploaded firmware", upload, device);
		return (
			rejection ?? {
				path: `${uploadPath}?sha256=${sha256}`,
				version,
				sha256,
				upload: sha256,
				signature,
				...identify(image),
			}
		);
	}

	async #chooseImage(release: Release, device: DeviceFit): Promise<Choice | RejectedUpdate> {
		const images = release.images.filter((image) => fits(image, device));
		// An unknown chip defaults to the first of `chips`, that of the boards. A model is never guessed.
		const image = chips.flatMap((chip) => images.filter((candidate) => candidate.chip === chip))[0];
		const none = `Release ${release.version} has no image for ${describeFit(device)}.`;
		if (!image) return reject("incompatible_firmware", none);
		const unknown = "The model of the device is unknown. Wait for its first state_report.";
		if (images.some(({ model }) => model !== image.model)) return reject("incompatible_firmware", unknown);
		const rejection = rejectDowngrade(`Release ${release.version}`, image, device);
		if (rejection) return rejection;
		const opened = await rejectUnusable(this.#options.repository.openImage(release, image));
		if ("rejection" in opened) return opened;
		const { sha256, signature } = image;
		const patch = await this.#choosePatch(release, image, device);
		const path = `${releaseAddress(release, image)}&sha256=${sha256}`;
		return {
			path,
			version: release.version,
			sha256,
			signature,
			...identify(opened),
			...(patch && { patch }),
		};
	}

	/** @returns undefined if there is no usable patch, so that the device downloads the full image */
	async #choosePatch(release: Release, image: ReleaseImage, device: DeviceFit): Promise<Choice["patch"]> {
		const { model, chip, patches = [], sha256: to } = image;
		const patch = patches.find((candidate) => candidate.from_version === device.patchable);
		if (!patch || device.model !== model || device.chip !== chip) return undefined;
		const { path, from } = patch;
		try {
			await this.#options.repository.openPart(release, patch);
			this.#problems.delete(path);
			return { path, from, to };
		} catch (error) {
			const unreadable = `The file ${path} cannot be read (${errorCode(error)}).`;
			const reason = error instanceof RequestError ? error.message : unreadable;
			const sentence = `${reason} Devices that run ${patch.from_version} download the full image.`;
			if (this.#problems.get(path) !== sentence) this.#options.onProblem(sentence);
			this.#problems.set(path, sentence);
			return undefined;
		}
	}
}

function findRelease(known: Catalog, version: string): Release | RejectedUpdate {
	const isLatest = version === "latest";
	if (isLatest && known.latest === null)
		return reject("no_firmware", "The catalog has no latest release. Build a release, or upload firmware.");
	const requested = parse(isLatest ? known.latest : version);
	const release = known.releases.find(
		(candidate) => requested && compareBuild(candidate.version, requested) === 0,
	);
	const code = known.releases.length === 0 ? "no_firmware" : "unknown_version";
	return release ?? reject(code, `Release "${version}" not found. ${describeReleases(known)}`);
}

function findLatest({ releases }: Catalog, channel: string): Release | RejectedUpdate {
	const channels = [...new Set(releases.flatMap((release) => channelOf(release) ?? []))];
	const others = channels.length === 0 ? "none" : channels.join(", ");
	return (
		latestOf(releases, channel) ??
		reject("unknown_version", `The channel "${channel}" has no release. Channels with releases: ${others}.`)
	);
}

function describeReleases({ releases }: Catalog): string {
	const versions = releases.map(({ version }) => version).sort(rcompare);
	return versions.length === 0
		? "The catalog is empty."
		: `Latest releases: ${versions.slice(0, 5).join(", ")}.`;
}

function identify({ info }: StoredImage): { readonly imageId?: string } {
	return info instanceof ImageError || info.imageId === undefined ? {} : { imageId: info.imageId };
}

/** Rejects firmware with a lower security version than the device runs. @param what subject of the message */
function rejectDowngrade(
	what: string,
	{ security_version: offered = 0 }: Pick<Upload, "security_version">,
	{ securityVersion: required = 0 }: DeviceFit,
): RejectedUpdate | undefined {
	if (offered >= required) return undefined;
	const detail = `${what} has security version ${offered}, but the device requires at least ${required}.`;
	return reject("incompatible_firmware", detail, true);
}

function reject(code: UpdateRejection["code"], message: string, isFinal?: true): RejectedUpdate {
	return { rejection: { code, message, ...(isFinal && { isFinal }) } };
}

/** @returns rejection if the firmware may not be installed, or its file is missing or damaged */
async function rejectUnusable<T extends object>(opening: Promise<T>): Promise<T | RejectedUpdate> {
	try {
		return await opening;
	} catch (error) {
		if (error instanceof RejectedError) return reject("no_firmware", error.rejection.detail);
		throw error;
	}
}
