/** Releases that can be installed on a new board, and their files. */

import type { Model } from "../../../../device/protocol/schema.js";
import { channelOf, stable } from "../../../api/channels.js";
import type { Catalog, Release } from "../../../api/firmware.js";
import type { FlashFile } from "./board.js";
import { InstallError } from "./errors.js";

/** Manifest in the format of ESP Web Tools, with one build: each image has its own manifest. */
interface Manifest {
	readonly builds: readonly {
		/** Paths are relative to the manifest; offsets in bytes. */
		readonly parts: readonly { readonly path: string; readonly offset: number }[];
	}[];
}

/**
 * Finds the latest complete release for a new board of a model, preferably a stable one.
 *
 * @param matchesChip whether the release may be for this chip, named as in the catalog
 */
export function installableRelease(
	catalog: Catalog | undefined,
	model: Model,
	matchesChip: (chip: string) => boolean,
): Release | undefined {
	const fitting = (catalog?.releases ?? []).filter((release) =>
		manifestsOf(release, model).some(({ chip }) => matchesChip(chip)),
	);
	return fitting.find((release) => channelOf(release) === stable) ?? fitting[0];
}

/** Loads the files of the latest release for a board with their flash addresses. @throws InstallError */
export async function loadFiles(catalog: Catalog, model: Model, chipFamily: string): Promise<FlashFile[]> {
	const isOfBoard = (chip: string) => chip === chipOf(chipFamily);
	const release = installableRelease(catalog, model, isOfBoard);
	const found = release && manifestsOf(release, model).find(({ chip }) => isOfBoard(chip));
	if (!found) {
		const all = catalog.releases.flatMap((known) => manifestsOf(known, model));
		const supported = new Set(all.map(({ chip }) => (isBoardChip(chip) ? chip : "virtual devices")));
		throw new InstallError(
			"wrong_chip",
			`Firmware for ${model} supports ${[...supported].join(" and ")}, but this board has an ${chipFamily}. Nothing was written.`,
		);
	}
	// Relative to the page, whose path may have a prefix of a reverse proxy.
	const address = new URL(found.path.slice(1), document.baseURI);
	const { builds }: Manifest = await (await load(address)).json();
	return Promise.all(
		builds
			.flatMap(({ parts }) => parts)
			.map(async (part) => ({
				address: part.offset,
				data: new Uint8Array(await (await load(new URL(part.path, address))).arrayBuffer()),
			})),
	);
}

/** Whether an image is for boards, not for virtual devices. */
export function isBoardChip(chip: string): boolean {
	return chip !== "virtual";
}

/** Converts the chip name of ESP Web Tools, such as "ESP32-S3", to that of the catalog. */
function chipOf(chipFamily: string): string {
	return chipFamily.toLowerCase().replaceAll("-", "");
}

/** Manifests for a model by chip, in the order of the release. */
function manifestsOf({ images }: Release, model: Model) {
	return images.flatMap(({ chip, flash = [], ...image }) =>
		flash.flatMap(({ path }) =>
			image.model === model && path.endsWith("/flash.json") ? { chip, path } : [],
		),
	);
}

async function load(address: URL): Promise<Response> {
	// A release of the same version may have been replaced.
	const response = await fetch(address, { cache: "no-cache" }).catch(() => undefined);
	if (response?.ok) return response;
	const why = response ? `HTTP status ${response.status}` : "gateway unreachable";
	throw new InstallError("no_download", `Firmware download failed: ${why}.`);
}
