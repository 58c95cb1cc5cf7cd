/**
 * Backup archive: a tar.gz whose last file, backup.json, contains the SHA-256 of each other file. Written and
 * read one file at a time; content is valid only once `about` is set.
 */

import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { createTarDecoder, createTarPacker, type TarPackController } from "modern-tar";
import { sha256 } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	isRecord,
	list,
	matches,
	object,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import { sha256Of } from "../digest.js";
import { errorCode } from "../problem.js";

/** Format version. Releases read their own and older versions. */
export const format = 1;
/** Files encrypted with a passphrase; their names then end with `encryptedSuffix`. */
export const secretFiles: readonly string[] = ["data/tokens.json", "data/webhooks.json"];
export const encryptedSuffix = ".enc";

const aboutName = "backup.json";
const maxFiles = 1_000_000;

const scrypt = object({
	/** Base64. */
	salt: pattern(64, "^[A-Za-z0-9+/=]{24,}$", "base64"),
	cost: integer(2 ** 10, 2 ** 20),
	blockSize: integer(1, 32),
	parallelization: integer(1, 16),
});
const about = object({
	format: integer(1, format),
	/** Version of the gateway. */
	gateway: string(64),
	/** UTC. */
	createdAt: string(30),
	/** Key derivation of the encrypted files; absent: none are encrypted. */
	scrypt: optional(scrypt),
	/** Names of skipped files; absent: unknown. */
	skipped: optional(list(string(5000), maxFiles)),
	files: list(object({ name: string(300), size: integer(0, Number.MAX_SAFE_INTEGER), sha256 }), maxFiles),
});
/** Content of backup.json. */
export type About = Infer<typeof about>;
export type Scrypt = Infer<typeof scrypt>;

export interface ArchiveFile {
	/** Path below `data/` or `releases/`, with slashes. */
	readonly name: string;
	readonly content: Buffer;
}

/** Invalid, damaged or newer archive, with a message for users. */
export class ArchiveError extends Error {}

/**
 * @param describe called after the last file
 * @returns a tar.gz
 */
export function writeArchive(
	files: AsyncIterable<ArchiveFile>,
	describe: () => Omit<About, "format" | "files">,
): Readable {
	const gzip = createGzip();
	const { readable, controller } = createTarPacker();
	pack(controller, files, describe).catch((error) => controller.error(error));
	// An error destroys `gzip` and thereby reaches its reader.
	pipeline(Readable.fromWeb(readable), gzip).catch(() => {});
	return gzip;
}

async function pack(
	controller: TarPackController,
	files: AsyncIterable<ArchiveFile>,
	describe: () => Omit<About, "format" | "files">,
): Promise<void> {
	const add = async (name: string, content: Uint8Array) => {
		const body = controller.add({ name, size: content.length, mode: 0o600 }).getWriter();
		if (content.length > 0) await body.write(content);
		await body.close();
	};
	const packed: { name: string; size: number; sha256: string }[] = [];
	for await (const { name, content } of files) {
		packed.push({ name, size: content.length, sha256: sha256Of(content) });
		await add(name, content);
	}
	const text = JSON.stringify({ format, ...describe(), files: packed }, undefined, "\t");
	await add(aboutName, Buffer.from(`${text}\n`));
	controller.finalize();
}

export class ArchiveReader {
	/** Undefined until all files were read and match backup.json. */
	about: About | undefined;
	readonly #content: AsyncIterable<Uint8Array>;

	constructor(content: AsyncIterable<Uint8Array>) {
		this.#content = content;
	}

	/**
	 * Yields all files except backup.json.
	 * @throws {ArchiveError} possibly after the last one
	 * @throws errors of reading the content
	 */
	async *files(): AsyncGenerator<ArchiveFile> {
		const found: About["files"][number][] = [];
		let text: string | undefined;
		for await (const { name, content } of unpack(this.#content)) {
			if (text !== undefined)
				throw new ArchiveError("The archive is damaged: backup.json is not its last file.");
			if (name === aboutName) text = content.toString();
			else if (!isSafe(name)) throw new ArchiveError(`The archive is not a backup: it has a file ${name}.`);
			else {
				found.push({ name, size: content.length, sha256: sha256Of(content) });
				yield { name, content };
			}
		}
		this.about = check(text, found);
	}
}

/** @throws {ArchiveError} */
function check(text: string | undefined, found: About["files"]): About {
	if (text === undefined)
		throw new ArchiveError("The archive is not a backup, or its end is missing: it has no backup.json.");
	const value = parseJson(text);
	if (isRecord(value) && typeof value.format === "number" && value.format > format)
		throw new ArchiveError(
			`The archive has format ${value.format}, and this release reads at most ${format}: restore it with the release that made it (${value.gateway}) or a later one.`,
		);
	if (!matches(about, value)) throw new ArchiveError("The archive is damaged: backup.json is invalid.");
	const wanted = new Map(value.files.map((file) => [file.name, file.sha256]));
	const changed = found.find((file) => wanted.get(file.name) !== file.sha256);
	if (changed) throw new ArchiveError(`The archive is damaged: ${changed.name} has the wrong checksum.`);
	if (wanted.size !== found.length || value.files.length !== found.length)
		throw new ArchiveError(`The archive is damaged: it has ${found.length} of ${value.files.length} files.`);
	return value;
}

/**
 * @throws {ArchiveError}
 * @throws errors of reading the content
 */
async function* unpack(content: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveFile> {
	const gunzip = createGunzip();
	let failure: unknown;
	const read = async function* () {
		try {
			yield* content;
		} catch (error) {
			failure = error;
			throw error;
		}
	};
	// An error destroys `gunzip` and thereby reaches its reader.
	pipeline(Readable.from(read()), gunzip).catch(() => {});
	try {
		const entries = Readable.toWeb(gunzip).pipeThrough(createTarDecoder({ strict: true }));
		for await (const { header, body } of entries) yield { name: header.name, content: await buffer(body) };
	} catch (error) {
		if (error === failure || !(error instanceof Error)) throw error;
		if (errorCode(error)?.startsWith("Z_"))
			throw new ArchiveError("The archive is damaged or incomplete: unpacking failed.");
		throw new ArchiveError(`The archive is damaged: ${error.message.replace(/\.$/, "")}.`);
	}
}

/** Whether a path stays within the folder it is extracted to. */
function isSafe(name: string): boolean {
	const [root = "", ...parts] = name.split("/");
	const areNames = parts.every((part) => !/^\.{0,2}$/.test(part) && !/[\\:\0]/.test(part));
	return ["data", "releases"].includes(root) && parts.length > 0 && areNames;
}
