/**
 * The releases that can be rolled out, as the release script wrote them down in `catalog.json`. The file is read again
 * when it changes, so that a release needs no restart; one that is broken is reported and the last good one stays in
 * force, so that a slip of a person's editor does not take the releases away from a fleet.
 */

import { join, sep } from "node:path";
import { chips } from "../../device/protocol/messages.js";
import {
	describeProblem,
	findProblem,
	type Infer,
	integer,
	isRecord,
	matches,
	models,
	object,
	oneOf,
	pattern,
	type Schema,
	string,
} from "../../device/protocol/schema.js";
import { errorCode } from "../start-error.js";
import { type Disk, ifThere, stateOf } from "../whole-file.js";
import { isVersion } from "./image.js";

const releaseImage = object({
	model: oneOf(...models),
	path: pattern(
		255,
		"^/releases/([A-Za-z0-9][A-Za-z0-9_-]*/)*firmware-v[0-9A-Za-z.+-]+\\.bin$",
		"/releases/<folder>/firmware-v<version>.bin",
	),
	/** In bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	sha256: pattern(64, "^[0-9a-f]{64}$", "a SHA-256 in hex"),
	chip: oneOf(...chips),
	idf_version: string(64),
});
/** One file of a release: `path` is the one of its URL, below the base URL. */
export type ReleaseImage = Infer<typeof releaseImage>;

const releaseHead = object({ version: string(64), date: string(64), notes: string(65_536) });
export type Release = Infer<typeof releaseHead> & { readonly images: readonly ReleaseImage[] };

export interface Catalog {
	readonly schema: 1;
	/** The highest version that is no pre-release; null where there is none. */
	readonly latest: string | null;
	readonly releases: readonly Release[];
}

const noReleases: Catalog = Object.freeze({ schema: 1, latest: null, releases: Object.freeze([]) });

export interface CatalogFileOptions {
	/** Holds `catalog.json` and the images. */
	readonly directory: string;
	readonly disk: Disk;
	/** Called once for each broken state of the file. */
	readonly onProblem: (sentence: string) => void;
}

export class CatalogFile {
	readonly #options: CatalogFileOptions;
	readonly #path: string;
	#catalog = noReleases;
	/** Of the file that `#catalog` was read from. */
	#state: string | undefined;
	#problem: string | undefined;

	constructor(options: CatalogFileOptions) {
		this.#options = options;
		this.#path = join(options.directory, "catalog.json");
	}

	/** Why the file as it is now is not in force; undefined where it is. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** The catalog in force. */
	async read(): Promise<Catalog> {
		const { disk, onProblem } = this.#options;
		try {
			const { state } = await stateOf(disk, this.#path);
			if (state !== this.#state) this.#catalog = parseCatalog(await disk.readFile(this.#path, "utf8"));
			this.#state = state;
			this.#problem = undefined;
		} catch (error) {
			this.#state = undefined;
			const isMissing = errorCode(error) === "ENOENT";
			if (isMissing) this.#catalog = noReleases;
			const reason = error instanceof Error ? error.message : String(error);
			const sentence = `${this.#path} is not used, what it last said stays in force: ${reason}`;
			if (!isMissing && sentence !== this.#problem) onProblem(sentence);
			this.#problem = isMissing ? undefined : sentence;
		}
		return this.#catalog;
	}

	/** Where an image is, wherever links lead. @returns undefined where it is missing, or outside the folder */
	async locate(image: ReleaseImage): Promise<string | undefined> {
		const { disk, directory } = this.#options;
		const folder = await ifThere(disk.realpath(directory));
		const file = await ifThere(disk.realpath(join(directory, image.path.slice("/releases/".length))));
		return folder !== undefined && file?.startsWith(folder + sep) ? file : undefined;
	}
}

/**
 * Reads a catalog.
 *
 * @throws {Error} its message says what is wrong, and where
 */
export function parseCatalog(content: string): Catalog {
	const value: unknown = JSON.parse(content);
	if (!isRecord(value) || value.schema !== 1) throw new Error("schema must be 1");
	const releases = parseList(value.releases, "releases", parseRelease);
	requireUnique(releases.map(({ version }) => version));
	requireUnique(releases.flatMap(({ images }) => images.map(({ path }) => path)));
	const { latest } = value;
	if (latest !== null && typeof latest !== "string") throw new Error("latest must be a version or null");
	if (latest !== null && !releases.some(({ version }) => version === latest))
		throw new Error(`latest names ${latest}, which is not among the releases`);
	return { ...value, schema: 1, latest, releases };
}

function parseRelease(value: unknown, where: string): Release {
	const head = requireMatch(releaseHead, value, where);
	if (!isVersion(head.version)) throw new Error(`${where}.version must be a semantic version such as 1.4.0`);
	const list = isRecord(value) ? value.images : undefined;
	const images = parseList(list, `${where}.images`, (image, at) => requireMatch(releaseImage, image, at));
	const stray = images.find(({ path }) => !path.endsWith(`/firmware-v${head.version}.bin`));
	if (stray) throw new Error(`${where}: ${stray.path} is not named for version ${head.version}`);
	return { ...head, images };
}

function parseList<T>(value: unknown, where: string, parse: (item: unknown, where: string) => T): T[] {
	if (!Array.isArray(value)) throw new Error(`${where} must be a list`);
	return value.map((item, index) => parse(item, `${where}[${index}]`));
}

function requireMatch<S extends Schema>(schema: S, value: unknown, where: string): Infer<S> {
	if (matches(schema, value)) return value;
	throw new Error(`${where}: ${describeProblem(findProblem(schema, value))}`);
}

function requireUnique(values: readonly string[]): void {
	const twice = values.find((value, index) => values.indexOf(value) !== index);
	if (twice !== undefined) throw new Error(`${twice} is there twice`);
}
