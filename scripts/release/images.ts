/** Builds the images of a release for the boards and for QEMU, with the Moddable SDK and ESP-IDF. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Model, models } from "../../device/protocol/schema.js";
import { boardOf, buildBoard } from "../boards/build.js";
import type { ModdableSdk } from "../moddable/sdk.js";

interface ReleaseHost {
	readonly model: Model;
	/** Folder under hosts/. */
	readonly host: string;
	/** In the build folder; shared with flash or qemu, so that ESP-IDF is built once. */
	readonly output: string;
}

const releaseHosts: readonly ReleaseHost[] = [
	...models.map((model) => ({ model, host: boardOf(model), output: "esp32" })),
	{ model: "DEV-1", host: "qemu", output: "qemu" },
];

export interface ReleaseBuild {
	readonly sdk: ModdableSdk;
	readonly version: string;
	readonly buildFolder: string;
	readonly onOutput: (text: string) => void;
}

/** Builds one after another, as each build uses all processors. @throws Error where a build fails */
export async function buildReleaseImages(options: ReleaseBuild): Promise<readonly Buffer[]> {
	const { sdk, version, buildFolder, onOutput } = options;
	const images: Buffer[] = [];
	for (const { model, host, output } of releaseHosts) {
		onOutput(`Building ${model} ${version} for ${host}; the first time takes several minutes.\n`);
		const outputFolder = join(buildFolder, output);
		images.push(readFileSync(await buildBoard({ sdk, model, host, version, outputFolder, onOutput })));
	}
	return images;
}
