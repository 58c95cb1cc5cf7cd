/**
 * Reads `catalog.json`, which lists the releases, and reloads it when it changes. An invalid catalog is reported, and the last
 * valid one stays in use, so that a typing error does not remove all releases.
 */

import { join, sep } from "node:path";
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
import { type Disk, ifThere, stateOf } from "../storage/atomic-file.js";
import { isVersion } from "./image.js";

/** Catalog schema, except for `latest`, as schemas have no null. */
const catalog = object({ releases: list(release, 10_000) });

const noReleases: Catalog = Object.freeze({ schema: 1, latest: null, releases: Object.freeze([]) });

export interface CatalogFileOptions {
	readonly directory: string;
	readonly disk: Disk;
	/** Called once for each invalid state of the file. */
	readonly onProblem: (sentence: string) => void;
}

/** Source of releases. */
export interface Releases {
	read(): Promise<Catalog>;
	/** @returns the path on disk; undefined if there is no such file */
	locate(file: ReleaseFile): Promise<string | undefined>;
}

export class CatalogFile implements Releases {
	readonly #options: CatalogFileOptions;
	readonly #path: string;
	#catalog = noReleases;
	/** State of the file that `#catalog` was read from. */
	#state: string | undefined;
	#problem: string | undefined;
	#isMissing = false;

	constructor(options: CatalogFileOptions) {
		this.#options = options;
		this.#path = join(options.directory, "catalog.json");
	}

	/** Why the file is not in use as it is; undefined if it is. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** Whether there was no file when it was last read. */
	get isMissing(): boolean {
		return this.#isMissing;
	}

	/** The last valid catalog; empty if there is no file. */
	async read(): Promise<Catalog> {
		const { disk, onProblem } = this.#options;
		try {
			const { state } = await stateOf(disk, this.#path);
			if (state !== this.#state) this.#catalog = parseCatalog(await disk.readFile(this.#path, "utf8"));
			this.#state = state;
			this.#isMissing = false;
			this.#problem = undefined;
		} catch (error) {
			this.#state = undefined;
			this.#isMissing = errorCode(error) === "ENOENT";
			if (this.#isMissing) this.#catalog = noReleases;
			const reason = error instanceof Error ? error.message : String(error);
			const sentence = `${this.#path} is not used; the last valid catalog stays in use: ${reason}`;
			if (!this.#isMissing && sentence !== this.#problem) onProblem(sentence);
			this.#problem = this.#isMissing ? undefined : sentence;
		}
		return this.#catalog;
	}

	/** Path on disk, symbolic links resolved. @returns undefined if it is missing or outside the folder */
	async locate({ path }: Pick<ReleaseFile, "path">): Promise<string | undefined> {
		const { disk, directory } = this.#options;
		const folder = await ifThere(disk.realpath(directory));
		const file = await ifThere(disk.realpath(join(directory, path.slice("/releases/".length))));
		return folder !== undefined && file?.startsWith(folder + sep) ? file : undefined;
	}
}

/** @throws {Error} says what is wrong, and where */
export function parseCatalog(content: string): Catalog {
	const value: unknown = JSON.parse(wellFormedJson(content));
	if (!isRecord(value) || value.schema !== 1) throw new Error("schema must be 1");
	const { latest } = value;
	if (!matches(catalog, value)) throw new Error(describeProblem(findProblem(catalog, value)));
	const { releases } = value;
	for (const [index, { version, images }] of releases.entries()) {
		const where = `releases.${index}`;
		if (!isVersion(version)) throw new Error(`${where}.version must be a semantic version such as 1.4.0`);
		const stray = images.find(({ path }) => !path.endsWith(`/firmware-v${version}.bin`));
		if (stray) throw new Error(`${where}: ${stray.path} is not named for version ${version}`);
		for (const { path: image, patches = [] } of images)
			for (const { path, from_version: from } of patches)
				if (path !== patchPath(image, from))
					throw new Error(`${where}: ${path} is not named for ${image} and version ${from}`);
	}
	const images = releases.flatMap((release) => release.images);
	requireUnique(releases.map(({ version }) => version));
	requireUnique(images.map(({ path }) => path));
	requireUnique(
		images.flatMap(({ flash = [], patches = [] }) => [...flash, ...patches].map(({ path }) => path)),
	);
	if (latest !== null && typeof latest !== "string") throw new Error("latest must be a version or null");
	if (latest !== null && !releases.some(({ version }) => version === latest))
		throw new Error(`latest names ${latest}, which is not among the releases`);
	return { ...value, schema: 1, latest };
}

/** @param image path of the one that the patch makes @param from version of the one that it changes */
export function patchPath(image: string, from: string): string {
	return `${image.slice(0, -".bin".length)}.from-v${from}.patch`;
}

function requireUnique(values: readonly string[]): void {
	const twice = values.find((value, index) => values.indexOf(value) !== index);
	if (twice !== undefined) throw new Error(`${twice} is there twice`);
}
