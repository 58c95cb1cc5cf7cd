/**
 * The latest upload: a binary, named by its SHA-256, and a record, replaced last, that says which one counts: after a power
 * cut all fields and the bytes belong together.
 */

import { chips, sha256, signature } from "../../device/protocol/messages.js";
import {
	type Infer,
	integer,
	matches,
	models,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import { errorCode, RejectedError } from "../problem.js";
import type { BlobDraft, Blobs, CreateBlobs } from "../storage/blobs.js";
import { Queue } from "../storage/queue.js";
import { type CreateRecords, type Records, Superseded } from "../storage/records.js";

const record = object({
	filename: string(255),
	/** In bytes. */
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

/** Version, model and chip are absent if the image was not checked. */
export type Upload = Infer<typeof record>;

export interface UploadStoreOptions {
	readonly records: CreateRecords;
	readonly blobs: CreateBlobs;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

const name = "firmware";
/** Interval at which a binary is looked for that cannot be read, such as on a disk that is mounted late. */
const recheckMs = 10_000;
const key = "upload";
const uploadFile = Object.freeze({
	what: "details of the firmware",
	advice: "upload it again",
	isKey: (each: string) => each === key,
	format: (upload: Upload) => `${JSON.stringify(upload, null, "\t")}\n`,
	parse: (content: string): Upload | undefined => {
		const value = parseJson(content);
		return matches(record, value) ? value : undefined;
	},
});

export class UploadStore {
	readonly #options: UploadStoreOptions;
	readonly #records: Records<Upload>;
	readonly #blobs: Blobs;
	#kept: Upload | undefined;
	/** The binary of this one cannot be read. */
	#lost: Upload | undefined;
	/** Being written. */
	#next: Upload | undefined;
	/** One upload is stored after the other. */
	readonly #queue = new Queue();

	constructor(options: UploadStoreOptions) {
		const { records, blobs, onProblem } = options;
		this.#options = options;
		const onRecord = (_key: string, upload: Upload | undefined) => {
			this.#kept = upload;
			void this.#queue.add(() => this.#fetch());
		};
		this.#records = records<Upload>({ name, ...uploadFile, onProblem, onRecord });
		this.#blobs = blobs({ name, suffix: ".bin", onProblem });
	}

	/**
	 * Loads the current upload and removes incomplete ones.
	 * @throws {NodeJS.ErrnoException} if the folder cannot be read or written
	 */
	async open(): Promise<void> {
		const upload = (await this.#records.load()).get(key);
		this.#kept ??= upload;
		// Its record may only be unreadable now.
		await this.#blobs.open((sha256) => !upload || sha256 === upload.sha256);
		if (upload) await this.#check(upload);
	}

	async #check(upload: Upload): Promise<void> {
		const problem = await this.#findProblem(upload);
		if (problem !== undefined && this.#lost !== upload)
			this.#options.onProblem(
				`The uploaded firmware is lost (${this.#blobs.placeOf(upload.sha256)} ${problem}); upload it again.`,
			);
		this.#lost = problem === undefined ? undefined : upload;
		if (problem !== undefined && this.#kept === upload)
			setTimeout(() => void this.#check(upload), recheckMs).unref();
	}

	async #findProblem(upload: Upload): Promise<string | undefined> {
		try {
			const binary = await this.#blobs.read(upload.sha256);
			return binary?.length === upload.size ? undefined : "is missing, or has been changed";
		} catch (error) {
			// It cannot be reached now.
			if (error instanceof RejectedError) return undefined;
			// Read errors, such as a bad sector, neither prevent the start nor delete the binary.
			return `cannot be read: ${errorCode(error) ?? error}`;
		}
	}

	/** Resolves once everything is stored. */
	async close(): Promise<void> {
		await this.#queue.settle();
		await this.#records.close();
	}

	get current(): Upload | undefined {
		return this.#kept === this.#lost ? undefined : this.#kept;
	}

	/** @returns undefined if it is missing @throws {NodeJS.ErrnoException} @throws {RejectedError} */
	path({ sha256 }: Upload): Promise<string | undefined> {
		return this.#blobs.path(sha256);
	}

	/**
	 * Starts an upload, which is not visible before `keep`.
	 * @throws {NodeJS.ErrnoException} as may each later step: ENOSPC if the disk is full @throws {RejectedError} likewise
	 */
	async begin() {
		const draft = await this.#blobs.begin();
		let size = 0;
		return {
			write: (chunk: Uint8Array): Promise<void> => {
				size += chunk.length;
				return draft.write(chunk);
			},
			/** Makes it the current upload. */
			keep: (description: Omit<Upload, "size" | "upload_time">): Promise<Upload> =>
				this.#queue.add(() => {
					const upload_time = new Date(this.#options.now()).toISOString();
					return this.#replace(draft, { ...description, size, upload_time });
				}),
			/** Removes it; also after a failed `keep`. */
			discard: draft.discard,
		};
	}

	async #replace(draft: BlobDraft, upload: Upload): Promise<Upload> {
		try {
			await draft.keep(upload.sha256);
			const previous = await this.#write(upload);
			if (previous && previous.sha256 !== upload.sha256)
				await this.#blobs.remove(previous.sha256).catch((error: Error) => this.#report(error));
			return upload;
		} finally {
			await this.#sweep();
		}
	}

	/** @returns the one that it replaces: of two that are stored at one time, the later counts */
	async #write(upload: Upload): Promise<Upload | undefined> {
		const previous = this.#kept;
		this.#next = upload;
		try {
			await this.#records.saveOnce(key, upload);
		} catch (error) {
			if (error instanceof Superseded) return this.#write(upload);
			// Either may be found at the next start until the state is restored.
			const isRestored = previous ? await this.#records.save(key, previous) : await this.#records.remove(key);
			if (isRestored) this.#next = undefined;
			throw error;
		}
		this.#kept = upload;
		this.#next = undefined;
		return previous;
	}

	/** Another process has stored one: updates that have begun are to go on here without it. */
	async #fetch(): Promise<void> {
		if (this.#kept) await this.path(this.#kept).catch((error: Error) => this.#report(error));
		await this.#sweep();
	}

	#sweep(): Promise<void> {
		return this.#blobs.sweep((sha256) => [this.#kept?.sha256, this.#next?.sha256].includes(sha256));
	}

	#report({ message }: Error): void {
		this.#options.onProblem(
			`The uploaded firmware cannot be fetched, or the previous one removed: ${message}`,
		);
	}
}
