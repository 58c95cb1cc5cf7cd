/**
 * Blobs: files in a folder, named by the SHA-256 of their content. If they are stored elsewhere, the folder is a cache, which
 * may be lost.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { type Disk, fillDraft, ifThere, isTemporary, makeFolder, openDraft } from "./atomic-file.js";
import { Queues } from "./queue.js";

export interface BlobsOptions {
	/** Made if it is missing; used by these blobs alone. */
	readonly directory: string;
	/** Suffix of file names, such as ".wav". */
	readonly suffix: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
	/** Opens the shared storage; undefined: the folder only. */
	readonly files?: (() => Promise<Files>) | undefined;
}

/** Files of some megabytes, by name; a name's content never changes. */
export interface Files {
	/** No effect if there is a file of this name. @throws {RejectedError} */
	put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
	/** @returns undefined if there is none @throws {RejectedError} also while it is read */
	get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
	/** @throws {RejectedError} */
	remove(name: string): Promise<void>;
	/** @returns the names of all of them @throws {RejectedError} */
	names(): Promise<readonly string[]>;
}

/** Makes the blobs of one kind. @param name of their folder, and of what is in its place */
export type CreateBlobs = (
	options: Pick<BlobsOptions, "suffix" | "onProblem"> & { readonly name: string },
) => Blobs;

/** A blob that is being written. */
export interface BlobDraft {
	/** @throws {NodeJS.ErrnoException} ENOSPC if the disk is full */
	write(chunk: Uint8Array): Promise<void>;
	/** @param sha256 of what was written, in hex: who writes it has to know it anyway @throws {NodeJS.ErrnoException} @throws {RejectedError} */
	keep(sha256: string): Promise<void>;
	/** Removes it; also after a failed `keep`. */
	discard(): Promise<void>;
}

const fetchedAtOnce = 4;

export class Blobs {
	readonly #options: BlobsOptions;
	/** A blob that several ask for is fetched once. */
	readonly #fetches = new Queues(fetchedAtOnce);

	constructor(options: BlobsOptions) {
		this.#options = options;
	}

	/** Removes what is no blob of these, and what was not finished. @throws {NodeJS.ErrnoException} if the folder cannot be used */
	async open(isKept: (sha256: string) => boolean): Promise<void> {
		await makeFolder(this.#options.disk, this.#options.directory);
		await this.#remove(isTemporary);
		await this.sweep(isKept);
		await this.#share().catch((error: Error) =>
			this.#options.onProblem(`Not all files of ${this.#options.directory} are shared: ${error.message}`),
		);
	}

	/** Keeps what is in the folder elsewhere too: it may be of a time before, or of a backup. */
	async #share(): Promise<void> {
		const { directory, disk, suffix, files } = this.#options;
		if (!files) return;
		for (const name of await disk.readdir(directory))
			if (isBlob(name, suffix))
				await (await files()).put(name.slice(0, -suffix.length), createReadStream(join(directory, name)));
	}

	/** Removes blobs from the folder, not from where else they are kept. A reader that has one open can read it to its end. */
	async sweep(isKept: (sha256: string) => boolean): Promise<void> {
		const { suffix } = this.#options;
		await this.#remove((name) => {
			return isBlob(name, suffix) && !isKept(name.slice(0, -suffix.length));
		});
	}

	async #remove(isLeftover: (name: string) => boolean): Promise<void> {
		const { directory, disk, onProblem } = this.#options;
		const report = (error: Error) =>
			onProblem(`A file that is not needed any more stays on disk: ${error.message}`);
		for (const name of (await disk.readdir(directory).catch(report)) ?? [])
			if (isLeftover(name)) await disk.rm(join(directory, name), { force: true }).catch(report);
	}

	/** @throws {NodeJS.ErrnoException} */
	async begin(): Promise<BlobDraft> {
		const { directory, disk, suffix, files } = this.#options;
		await makeFolder(disk, directory);
		const draft = await openDraft(disk, join(directory, `blob${suffix}`));
		return {
			write: draft.write,
			keep: async (sha256) => {
				const path = this.placeOf(sha256);
				await draft.moveTo(path);
				if (files) await (await files()).put(sha256, createReadStream(path));
			},
			discard: draft.discard,
		};
	}

	/**
	 * @returns of the file, which is fetched if it is kept elsewhere; undefined if there is none
	 * @throws {NodeJS.ErrnoException} @throws {RejectedError}
	 */
	path(sha256: string): Promise<string | undefined> {
		const path = this.placeOf(sha256);
		const { disk, files } = this.#options;
		return this.#fetches.add(sha256, async () => {
			if (await ifThere(disk.stat(path))) return path;
			const content = await (await files?.())?.get(sha256);
			if (!content) return undefined;
			await makeFolder(disk, this.#options.directory);
			const draft = await openDraft(disk, path);
			try {
				await fillDraft(draft, content, sha256);
				await draft.moveTo(path);
				return path;
			} catch (error) {
				await draft.discard();
				throw error;
			}
		});
	}

	/**
	 * A file that has been changed is removed; it is fetched again if it is kept elsewhere, as is one that was lost meanwhile.
	 * @returns its content; undefined if there is none
	 * @throws {NodeJS.ErrnoException} @throws {RejectedError}
	 */
	async read(sha256: string): Promise<Buffer | undefined> {
		const { disk } = this.#options;
		const path = await this.path(sha256);
		if (path === undefined) return undefined;
		const content = await ifThere(disk.readFile(path));
		if (content) {
			if (createHash("sha256").update(content).digest("hex") === sha256) return content;
			await disk.rm(path, { force: true });
		}
		const fetched = await this.path(sha256);
		return fetched === undefined ? undefined : ifThere(disk.readFile(fetched));
	}

	/** No effect if there is none; a reader that has it open can read it to its end. @throws {NodeJS.ErrnoException} @throws {RejectedError} */
	async remove(sha256: string): Promise<void> {
		const { disk, files } = this.#options;
		await disk.rm(this.placeOf(sha256), { force: true });
		await (await files?.())?.remove(sha256);
	}

	/** Returns the path of a blob in the folder, whether it exists or not. */
	placeOf(sha256: string): string {
		return join(this.#options.directory, `${sha256}${this.#options.suffix}`);
	}
}

function isBlob(name: string, suffix: string): boolean {
	return name.endsWith(suffix) && /^[0-9a-f]{64}$/.test(name.slice(0, -suffix.length));
}
