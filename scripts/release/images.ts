/** Builds the images of a release for virtual devices, boards and QEMU. */

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Model, models } from "../../device/protocol/schema.js";
import {
	type FlashPart,
	factoryParts,
	makeVirtualImage,
} from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { type BoardBuildOptions, boardOf, buildBoard, qemuBoard } from "../boards/build.js";
import { builtFor, firmwareFiles } from "../boards/flash-image.js";
import type { InstallableImage } from "./folder.js";

interface ReleaseHost {
	readonly model: Model;
	/** Folder under hosts/. */
	readonly host: string;
	/** Subfolder of the build folder; shared with flash or qemu, so that ESP-IDF is built once. */
	readonly output: string;
}

const releaseHosts: readonly ReleaseHost[] = [
	...models.map((model) => ({ model, host: boardOf(model), output: "esp32" })),
	{ ...qemuBoard, output: "qemu" },
];

/**
 * Builds the images for boards and QEMU one after another, since each build uses all processors. Only images for boards include the
 * files for a new board.
 * @throws Error if a build fails
 */
export async function buildReleaseImages(
	folder: string,
	options: Pick<BoardBuildOptions, "sdk" | "version" | "releaseKeys" | "onOutput">,
): Promise<readonly (Buffer | InstallableImage)[]> {
	const images: (Buffer | InstallableImage)[] = [];
	for (const { model, host, output } of releaseHosts) {
		console.log(`Building ${model} ${options.version} for ${host}. The first build takes several minutes.`);
		const outputFolder = join(folder, output);
		const image = await buildBoard({ ...options, model, host, outputFolder });
		const isBoard = host === boardOf(model);
		images.push(isBoard ? readParts(host, outputFolder) : readFileSync(image));
	}
	return images;
}

/** Lists the files that `npm run flash` writes. */
function readParts(host: string, outputFolder: string): InstallableImage {
	const files = firmwareFiles(builtFor(host, outputFolder));
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
