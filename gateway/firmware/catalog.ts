/**
 * Reads `catalog.json`, the list of releases, and reloads it after a change. An invalid catalog is reported, and the last valid
 * one stays in use, so that a typo does not remove all releases.
 */

import { join, sep } from "node:path";
import { messageOf } from "../../device/message-of.js";
import {
	describeProblem,
	findProblem,
	isRecord,
	list,
	matches,
	object,
} from "../../device/protocol/schema.js";
import { type Catalog, type ReleaseFile, release } from "../api/firmware.js";
import { wellFormedJson } from "../api/json.js";
import { errorCode } from "../problem.js";
import { type Disk, ifExists, stateOf } from "../storage/atomic-file.js";
import { isVersion } from "./image.js";

/** Schema of the catalog without `latest`, which may be null. */
const catalog = object({ releases: list(release, 10_000) });

const noReleases: Catalog = Object.freeze({ schema: 1, latest: null, releases: Object.freeze([]) });

export interface CatalogFileOptions {
	readonly directory: string;
	readonly disk: Disk;
	/** Called once for each invalid version of the file. */
	readonly onProblem: (sentence: string) => void;
}

export class CatalogFile {
	readonly #options: CatalogFileOptions;
	readonly #path: string;
	#catalog = noReleases;
	/** State of the file from which `#catalog` was read. */
	#state: string | undefined;
	#problem: string | undefined;

	constructor(options: CatalogFileOptions) {
		this.#options = options;
		this.#path = join(options.directory, "catalog.json");
	}

	/** Returns the last valid catalog, which is empty without a file. */
	async read(): Promise<Catalog> {
		const { disk, onProblem } = this.#options;
		try {
			const state = await stateOf(disk, this.#path);
			if (state !== this.#state) this.#catalog = parseCatalog(await disk.readFile(this.#path, "utf8"));
			this.#state = state;
			this.#problem = undefined;
		} catch (error) {
			this.#state = undefined;
			const isMissing = errorCode(error) === "ENOENT";
			if (isMissing) this.#catalog = noReleases;
			const sentence = `${this.#path} is invalid, so the last valid catalog stays in use: ${messageOf(error)}`;
			if (!isMissing && sentence !== this.#problem) onProblem(sentence);
			this.#problem = isMissing ? undefined : sentence;
		}
		return this.#catalog;
	}

	/** Resolves symbolic links. @returns path on disk; undefined if the file is missing or outside the folder */
	async locate({ path }: Pick<ReleaseFile, "path">): Promise<string | undefined> {
		const { disk, directory } = this.#options;
		const folder = await ifExists(disk.realpath(directory));
		const file = await ifExists(disk.realpath(join(directory, path.slice("/releases/".length))));
		return folder !== undefined && file?.startsWith(folder + sep) ? file : undefined;
	}
}

/** @throws {Error} with the invalid field and the problem */
export function parseCatalog(content: string): Catalog {
	const value: unknown = JSON.parse(wellFormedJson(content));
	if (!isRecord(value) || value.schema !== 1) throw new Error("schema must be 1");
	const { latest } = value;
	if (!matches(catalog, value)) throw new Error(describeProblem(findProblem(catalog, value)));
	const { releases } = value;
	for (const [index, { version, images }] of releases.entries()) {
		const where = `releases.${index}`;
		if (!isVersion(version)) throw new Error(`${where}.version must be a semantic version such as 1.4.0`);
		const misnamed = images.find(({ path }) => !path.endsWith(`/firmware-v${version}.bin`));
		if (misnamed) throw new Error(`${where}: ${misnamed.path} must be named firmware-v${version}.bin`);
		for (const { path: image, patches = [] } of images)
			for (const { path, from_version: from } of patches)
				if (path !== patchPath(image, from))
					throw new Error(`${where}: ${path} must be named ${patchPath(image, from)}`);
	}
	const images = releases.flatMap((release) => release.images);
	requireUnique(releases.map(({ version }) => version));
	requireUnique(images.map(({ path }) => path));
	requireUnique(
		images.flatMap(({ flash = [], patches = [] }) => [...flash, ...patches].map(({ path }) => path)),
	);
	if (latest !== null && typeof latest !== "string") throw new Error("latest must be a version or null");
	if (latest !== null && !releases.some(({ version }) => version === latest))
		throw new Error(`latest is ${latest}, which is not one of the releases`);
	return { ...value, schema: 1, latest };
}

/** @param image path of the patched image @param from version of the original image */
export function patchPath(image: string, from: string): string {
	return `${image.slice(0, -".bin".length)}.from-v${from}.patch`;
}

function requireUnique(values: readonly string[]): void {
	const duplicate = values.find((value, index) => values.indexOf(value) !== index);
	if (duplicate !== undefined) throw new Error(`duplicate ${duplicate}`);
}
