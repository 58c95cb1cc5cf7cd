/**
 * Files of releases by their SHA-256: in the bus's files, and those of other gateways in a cache on this gateway's disk.
 * There a file has its name only once it is whole and checked.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { type Disk, fillDraft, isTemporary, makeFolder, openDraft } from "../atomic-file.js";
import { type Bus, BusError, type Files } from "./bus.js";

export interface ReleaseFilesOptions {
	readonly bus: Bus;
	/** Of the cache; made if it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	readonly onFailed: (error: unknown) => void;
}

const ending = ".bin";

export class ReleaseFiles {
	readonly #options: ReleaseFilesOptions;
	/** SHA-256 of those in the cache. */
	readonly #cached = new Set<string>();
	/** Under way, by SHA-256. */
	readonly #fetches = new Map<string, Promise<string | undefined>>();
	#isClosed = false;

	constructor(options: ReleaseFilesOptions) {
		this.#options = options;
	}

	/** Removes from the cache what is incomplete or damaged. @throws {NodeJS.ErrnoException} if it cannot be used */
	async open(): Promise<void> {
		const { disk, directory } = this.#options;
		await makeFolder(disk, directory);
		for (const entry of await disk.readdir(directory, { withFileTypes: true })) {
			const { name } = entry;
			const sha256 = name.slice(0, -ending.length);
			const isWhole =
				entry.isFile() && name.endsWith(ending) && (await hasDigest(join(directory, name), sha256));
			if (isWhole) this.#cached.add(sha256);
			else if (name.endsWith(ending) || isTemporary(name)) await this.#removeCached(name);
		}
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await Promise.all(this.#fetches.values());
	}

	/** In the cache. @returns undefined if it is not there */
	pathOf(sha256: string): string | undefined {
		return this.#cached.has(sha256) ? this.#path(sha256) : undefined;
	}

	/** Gets a file from the bus. @returns its path in the cache; undefined if it cannot be had now */
	fetch(sha256: string): Promise<string | undefined> {
		const fetched =
			this.#fetches.get(sha256) ??
			this.#fetch(sha256)
				.catch((error: unknown) => this.#options.onFailed(error))
				.then(() => this.pathOf(sha256))
				.finally(() => this.#fetches.delete(sha256));
		this.#fetches.set(sha256, fetched);
		return fetched;
	}

	/** Makes the cache hold these files alone, as far as they can be had now. */
	async keep(needed: ReadonlySet<string>): Promise<void> {
		for (const sha256 of [...this.#cached])
			if (!needed.has(sha256)) {
				this.#cached.delete(sha256);
				await this.#removeCached(sha256 + ending);
			}
		for (const sha256 of needed)
			if (this.#options.bus.isConnected && !this.#isClosed && !this.#cached.has(sha256))
				await this.fetch(sha256);
	}

	/** Puts a file into the bus. @returns false if its content is another one @throws {BusError} */
	async put(sha256: string, path: string): Promise<boolean> {
		// A wrong content under this name could not be replaced.
		if (!(await hasDigest(path, sha256))) return false;
		await (await this.#files()).put(sha256, createReadStream(path));
		return true;
	}

	/** From the bus. @throws {BusError} */
	async remove(digests: Iterable<string>): Promise<void> {
		for (const sha256 of digests) await (await this.#files()).remove(sha256);
	}

	#files(): Promise<Files> {
		return this.#options.bus.files("gw-images");
	}

	async #fetch(sha256: string): Promise<void> {
		const path = this.#path(sha256);
		const content = await (await this.#files()).get(sha256);
		if (!content) return;
		const draft = await openDraft(this.#options.disk, path);
		try {
			await fillDraft(draft, this.#untilClosed(content), sha256);
			await draft.moveTo(path);
		} catch (error) {
			await draft.discard();
			throw error;
		}
		this.#cached.add(sha256);
	}

	async *#untilClosed(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
		for await (const chunk of content) {
			if (this.#isClosed) throw new BusError("away", "The gateway is stopping.");
			yield chunk;
		}
	}

	async #removeCached(name: string): Promise<void> {
		const { disk, directory, onFailed } = this.#options;
		await disk.rm(join(directory, name), { force: true }).catch(onFailed);
	}

	#path(sha256: string): string {
		return join(this.#options.directory, sha256 + ending);
	}
}

/** @returns false also if the file is missing or cannot be read */
async function hasDigest(path: string, sha256: string): Promise<boolean> {
	const hash = createHash("sha256");
	try {
		for await (const chunk of createReadStream(path)) hash.update(chunk);
	} catch {
		return false;
	}
	return hash.digest("hex") === sha256;
}
