/**
 * Latest upload: a binary, named by its SHA-256, and a record that refers to it. The record is replaced last, so that both are
 * consistent after a power failure.
 */

import { chips, sha256, signature } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	models,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import type { Base } from "../base.js";
import type { BlobDraft, Blobs } from "../storage/blobs.js";
import { Queue } from "../storage/queue.js";
import { jsonRecord, type Records, Superseded } from "../storage/records.js";
import type { ImageInfo } from "./image.js";

const record = object({
	filename: string(255),
	/** Bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	/** UTC. */
	upload_time: string(30),
	sha256,
	version: optional(string(32)),
	model: optional(oneOf(...models)),
	chip: optional(oneOf(...chips)),
	/** Absent: 0. */
	security_version: optional(integer(0, 65_535)),
	signature: optional(signature),
});

/** Description of an upload. Version, model and chip are absent if the image was not validated. */
export type Upload = Infer<typeof record>;

/** Returns the fields of an upload that its image contains. */
export function describeImage({ version, model, chip, securityVersion }: ImageInfo) {
	return { version, model, chip, ...(securityVersion > 0 && { security_version: securityVersion }) };
}

export interface UploadStoreOptions extends Pick<Base, "records" | "blobs" | "now"> {
	readonly onProblem: (sentence: string) => void;
}

const name = "firmware";
const key = "upload";
const uploadFile = Object.freeze({
	what: "details of the firmware",
	advice: "upload it again",
	isKey: (name: string) => name === key,
	...jsonRecord(record),
});

export class UploadStore {
	readonly #options: UploadStoreOptions;
	readonly #records: Records<Upload>;
	readonly #blobs: Blobs;
	#stored: Upload | undefined;
	/** Upload being written. */
	#pending: Upload | undefined;
	/** Serializes writes. */
	readonly #queue = new Queue();

	constructor(options: UploadStoreOptions) {
		const { records, blobs, onProblem } = options;
		this.#options = options;
		const onRecord = (_key: string, upload: Upload | undefined) => {
			this.#stored = upload;
			void this.#queue.add(() => this.#fetchBinary());
		};
		this.#records = records<Upload>({ name, ...uploadFile, onRecord });
		this.#blobs = blobs({ name, suffix: ".bin", onProblem });
	}

	/**
	 * Loads the current upload and removes incomplete files.
	 * @throws {NodeJS.ErrnoException} if the folder cannot be read or written
	 */
	async open(): Promise<void> {
		const upload = (await this.#records.load()).get(key);
		this.#stored ??= upload;
		// A missing record keeps all binaries, as it may be temporarily unreadable.
		await this.#blobs.open((sha256) => !upload || sha256 === upload.sha256);
		// Fetches a missing or modified binary; the repository reports one that cannot be used.
		if (upload) await this.#blobs.read(upload.sha256).catch(() => {});
	}

	/** Resolves once everything is stored. */
	settle(): Promise<void> {
		return this.#queue.settle();
	}

	get current(): Upload | undefined {
		return this.#stored;
	}

	/** @returns path of the binary; undefined if it is missing @throws {NodeJS.ErrnoException} @throws {RejectedError} */
	path({ sha256 }: Upload): Promise<string | undefined> {
		return this.#blobs.path(sha256);
	}

	/**
	 * Starts an upload, which becomes visible with `commit`. Like this method, each step may throw.
	 * @throws {NodeJS.ErrnoException} ENOSPC if the disk is full
	 * @throws {RejectedError} if the storage is unreachable
	 */
	async begin() {
		const draft = await this.#blobs.begin();
		return {
			...draft,
			/** Makes it the current upload. */
			commit: (description: Omit<Upload, "upload_time">): Promise<Upload> =>
				this.#queue.add(() => {
					const upload_time = new Date(this.#options.now()).toISOString();
					return this.#replace(draft, { ...description, upload_time });
				}),
		};
	}

	async #replace(draft: BlobDraft, upload: Upload): Promise<Upload> {
		try {
			await draft.commit(upload.sha256);
			const previous = await this.#write(upload);
			if (previous && previous.sha256 !== upload.sha256)
				await this.#blobs.remove(previous.sha256).catch((error: Error) => this.#report(error));
			return upload;
		} finally {
			await this.#sweep();
		}
	}

	/** Writes the record. Of two concurrent uploads, the later one wins. @returns the replaced upload */
	async #write(upload: Upload): Promise<Upload | undefined> {
		const previous = this.#stored;
		this.#pending = upload;
		try {
			await this.#records.saveOnce(key, upload);
		} catch (error) {
			if (error instanceof Superseded) return this.#write(upload);
			// The next start may find either of them until the record is restored.
			const isRestored = previous ? await this.#records.save(key, previous) : await this.#records.remove(key);
			if (isRestored) this.#pending = undefined;
			throw error;
		}
		this.#stored = upload;
		this.#pending = undefined;
		return previous;
	}

	/** Fetches the binary of an upload to another gateway, so that running updates do not depend on that gateway. */
	async #fetchBinary(): Promise<void> {
		if (this.#stored) await this.path(this.#stored).catch((error: Error) => this.#report(error));
		await this.#sweep();
	}

	#sweep(): Promise<void> {
		return this.#blobs.sweep((sha256) => [this.#stored?.sha256, this.#pending?.sha256].includes(sha256));
	}

	#report({ message }: Error): void {
		this.#options.onProblem(`Fetching the uploaded firmware or removing the previous one failed: ${message}`);
	}
}
