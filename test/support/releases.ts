/** Folder of releases in the layout of the release script. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ImageContent } from "../../hosts/virtual/node/boot/encode-image.js";
import { sha256Of } from "./bytes.js";
import { makeImage } from "./images.js";

type ReleaseContent = Pick<ImageContent, "version" | "model" | "chip"> & { readonly channel?: string };

export function imagePath({ version, model, chip }: ReleaseContent): string {
	const folder = `${chip === "esp32s3" ? "" : `${chip}/`}${model.toLowerCase()}`;
	return `/releases/${folder}/firmware-v${version}.bin`;
}

/** Writes the images and their catalog; the version of the first image is the latest. */
export async function writeReleases(
	releasesDir: string,
	contents: readonly ReleaseContent[],
	latest: string | null = contents[0]?.version ?? null,
	notes = "",
): Promise<readonly Buffer[]> {
	const images = contents.map((content) => makeImage(content));
	const entries = contents.map((content, index) => catalogEntry(content, images[index] ?? Buffer.alloc(0)));
	for (const [index, image] of images.entries()) {
		const path = join(releasesDir, "..", entries[index]?.path ?? "");
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, image);
	}
	const versions = [...new Set(contents.map(({ version }) => version))];
	const channelOf = (version: string) => contents.find((content) => content.version === version)?.channel;
	const releases = versions.map((version) => ({
		version,
		channel: channelOf(version),
		date: "2026-01-02",
		notes,
		images: entries.filter((_, index) => contents[index]?.version === version),
	}));
	await writeCatalog(releasesDir, { schema: 1, latest, releases });
	return images;
}

export function catalogEntry(content: ReleaseContent, image: Uint8Array) {
	return {
		model: content.model,
		path: imagePath(content),
		size: image.length,
		sha256: sha256Of(image),
		chip: content.chip,
		idf_version: "v6.0",
	};
}

export async function writeCatalog(releasesDir: string, catalog: unknown): Promise<void> {
	await mkdir(releasesDir, { recursive: true });
	const content = typeof catalog === "string" ? catalog : JSON.stringify(catalog);
	await writeFile(join(releasesDir, "catalog.json"), content);
}
