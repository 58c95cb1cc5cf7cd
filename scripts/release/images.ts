/** Builds the images of a release for virtual devices and boards. */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type Model, models } from "../../device/protocol/schema.js";
import {
	type FlashPart,
	factoryParts,
	makeVirtualImage,
} from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { type BoardBuildOptions, binFolder, boardOf, buildBoard } from "../boards/build.js";
import { firmwareFiles } from "../boards/flash-image.js";
import type { InstallableImage } from "./folder.js";

/**
 * Builds the images for boards one after another, since each build uses all processors.
 *
 * @param outputFolder folder of `npm run flash`, so that ESP-IDF is built once
 * @throws Error if a build fails
 */
export async function buildReleaseImages(
	outputFolder: string,
	options: Pick<BoardBuildOptions, "sdk" | "version" | "releaseKeys" | "onOutput">,
): Promise<readonly InstallableImage[]> {
	const images: InstallableImage[] = [];
	for (const model of models) {
		console.log(`Building ${model} ${options.version}. The first build takes several minutes.`);
		await buildBoard({ ...options, model, outputFolder });
		images.push(readParts(model, outputFolder));
	}
	return images;
}

/** Lists the files that `npm run flash` writes. */
function readParts(model: Model, outputFolder: string): InstallableImage {
	const files = firmwareFiles(binFolder(outputFolder, boardOf(model)));
	return installable(
		files.map(({ file, offset }) => ({ name: basename(file), offset, bytes: readFileSync(file) })),
	);
}

/**
 * @param buildTime seconds since 1970
 * @param releaseKeys result of `formatReleaseKeys`; default: none
 */
export async function makeVirtualImages(
	version: string,
	buildTime: number,
	releaseKeys = "",
): Promise<readonly InstallableImage[]> {
	const { bytes } = await buildFirmware();
	return models.map((model) =>
		installable(factoryParts(makeVirtualImage(bytes, model, version, buildTime, { releaseKeys }))),
	);
}

/** @param files files of a new board; the last one is the image */
function installable(files: readonly FlashPart[]): InstallableImage {
	const app = files.at(-1);
	if (!app) throw new Error("No image among the files.");
	return { image: app.bytes, offset: app.offset, parts: files.slice(0, -1) };
}
