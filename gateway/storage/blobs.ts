/**
 * Blobs: files in a folder, named by the SHA-256 of their content. With shared storage, the folder is a cache.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { sha256Of } from "../digest.js";
import { type Disk, ifExists, isTemporary, makeFolder, openDraft, writeFileAtomic } from "./atomic-file.js";
import { Queues } from "./queue.js";

export interface BlobsOptions {
	/** Created if missing; used exclusively by these blobs. */
	readonly directory: string;
	/** Suffix of file names, such as ".wav". */
	readonly suffix: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
	/** Opens the shared storage; undefined: the folder only. */
	readonly files?: (() => Promise<Files>) | undefined;
}

/** Shared storage of immutable files of some megabytes, by name. */
export interface Files {
	/** Stores a file, unless one with this name exists. @throws {RejectedError} */
	put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
	/** @returns undefined if the file does not exist @throws {RejectedError} also during the iteration */
	get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
	/** @throws {RejectedError} */
	remove(name: string): Promise<void>;
	/** @returns names of all files @throws {RejectedError} */
	names(): Promise<readonly string[]>;
}

/** Creates a store for one type of blobs. @param options `name` is the name of the folder, and of the shared storage */
export type CreateBlobs = (
	options: Pick<BlobsOptions, "suffix" | "onProblem"> & { readonly name: string },
) => Blobs;

/** Blob being written. */
export type BlobDraft = Awaited<ReturnType<Blobs["begin"]>>;

const maxFetches = 4;

export class Blobs {
	readonly #options: BlobsOptions;
	/** Serializes fetches of the same blob, so that it is fetched once. */
	readonly #fetches = new Queues(maxFetches);

	constructor(options: BlobsOptions) {
		this.#options = options;
	}

	/** Deletes unused blobs and temporary files. @throws {NodeJS.ErrnoException} if the folder cannot be used */
	async open(isUsed: (sha256: string) => boolean): Promise<void> {
		await makeFolder(this.#options.disk, this.#options.directory);
		await this.#remove(isTemporary);
		await this.sweep(isUsed);
		await this.#share().catch((error: Error) =>
			this.#options.onProblem(
				`Copying files of ${this.#options.directory} to the shared storage failed: ${error.message}`,
			),
		);
	}

	/** Copies the folder to the shared storage, as its blobs may be older than the cluster or come from a backup. */
	async #share(): Promise<void> {
		const { directory, disk, suffix, files } = this.#options;
		if (!files) return;
		for (const name of await disk.readdir(directory))
			if (isBlob(name, suffix))
				await (await files()).put(name.slice(0, -suffix.length), createReadStream(join(directory, name)));
	}

	/** Deletes unused blobs from the folder, but not from the shared storage. Readers of an open blob are not affected. */
	async sweep(isUsed: (sha256: string) => boolean): Promise<void> {
		const { suffix } = this.#options;
		await this.#remove((name) => {
			return isBlob(name, suffix) && !isUsed(name.slice(0, -suffix.length));
		});
	}

	async #remove(isUnused: (name: string) => boolean): Promise<void> {
		const { directory, disk, onProblem } = this.#options;
		const report = (error: Error) => onProblem(`Deleting an unused file failed: ${error.message}`);
		for (const name of (await disk.readdir(directory).catch(report)) ?? [])
			if (isUnused(name)) await disk.rm(join(directory, name), { force: true }).catch(report);
	}

	/** @throws {NodeJS.ErrnoException} */
	async begin() {
		const { directory, disk, suffix, files } = this.#options;
		await makeFolder(disk, directory);
		const draft = await openDraft(disk, join(directory, `blob${suffix}`));
		return {
			/** @throws {NodeJS.ErrnoException} ENOSPC if the disk is full */
			write: draft.write,
			/** Stores the blob. @param sha256 digest of the content, in hex @throws {NodeJS.ErrnoException} @throws {RejectedError} */
			commit: async (sha256: string): Promise<void> => {
				const path = this.pathOf(sha256);
				await draft.moveTo(path);
				if (files) await (await files()).put(sha256, createReadStream(path));
			},
			/** Deletes the temporary file, also after a failed `commit`. */
			discard: draft.discard,
		};
	}

	/**
	 * Fetches a blob from the shared storage unless it is in the folder.
	 * @returns path of the file; undefined if the blob does not exist
	 * @throws {NodeJS.ErrnoException} @throws {RejectedError}
	 */
	path(sha256: string): Promise<string | undefined> {
		const path = this.pathOf(sha256);
		const { disk, files } = this.#options;
		return this.#fetches.add(sha256, async () => {
			if (await ifExists(disk.stat(path))) return path;
			const content = await (await files?.())?.get(sha256);
			if (!content) return undefined;
			await makeFolder(disk, this.#options.directory);
			await writeFileAtomic(disk, path, verified(content, sha256));
			return path;
		});
	}

	/**
	 * Reads a blob. A modified file is deleted and, like a missing one, fetched again from the shared storage.
	 * @returns content; undefined if the blob does not exist
	 * @throws {NodeJS.ErrnoException} @throws {RejectedError}
	 */
	async read(sha256: string): Promise<Buffer | undefined> {
		const { disk } = this.#options;
		const path = await this.path(sha256);
		if (path === undefined) return undefined;
		const content = await ifExists(disk.readFile(path));
		if (content) {
			if (sha256Of(content) === sha256) return content;
			await disk.rm(path, { force: true });
		}
		const fetched = await this.path(sha256);
		return fetched === undefined ? undefined : ifExists(disk.readFile(fetched));
	}

	/** Deletes a blob, if it exists, without affecting its readers. @throws {NodeJS.ErrnoException} @throws {RejectedError} */
	async remove(sha256: string): Promise<void> {
		const { disk, files } = this.#options;
		await disk.rm(this.pathOf(sha256), { force: true });
		await (await files?.())?.remove(sha256);
	}

	/** Returns the path of a blob in the folder, whether it exists or not. */
	pathOf(sha256: string): string {
		return join(this.#options.directory, `${sha256}${this.#options.suffix}`);
	}
}

function isBlob(name: string, suffix: string): boolean {
	return name.endsWith(suffix) && /^[0-9a-f]{64}$/.test(name.slice(0, -suffix.length));
}

/** Passes on content. @throws {Error} at its end, if its digest differs */
async function* verified(content: AsyncIterable<Uint8Array>, sha256: string): AsyncGenerator<Uint8Array> {
	const hash = createHash("sha256");
	for await (const chunk of content) {
		hash.update(chunk);
		yield chunk;
	}
	if (hash.digest("hex") !== sha256) throw new Error(`the content does not match the SHA-256 ${sha256}`);
}
