/**
 * The latest upload on disk. The binary is named by its SHA-256, and `upload.json`, replaced last, says which one
 * counts: after a power cut all fields and the bytes belong together.
 */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { chips, signature } from "../../device/protocol/messages.js";
import {
	describeProblem,
	findProblem,
	type Infer,
	integer,
	matches,
	models,
	object,
	oneOf,
	optional,
	pattern,
	string,
} from "../../device/protocol/schema.js";
import { parseJson } from "../json.js";
import { errorCode } from "../problem.js";
import {
	type Disk,
	type Draft,
	fillDraft,
	ifThere,
	isTemporary,
	makeFolder,
	openDraft,
	writeFileAtomic,
} from "../storage/atomic-file.js";
import { Queue } from "../storage/queue.js";

const record = object({
	filename: string(255),
	/** In bytes. */
	size: integer(1, Number.MAX_SAFE_INTEGER),
	/** UTC. */
	upload_time: string(30),
	sha256: pattern(64, "^[0-9a-f]{64}$", "a SHA-256 in hex"),
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
	/** Made if it is missing; used by this store alone. */
	readonly directory: string;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

/** Only one process may use its folder. */
export class UploadStore {
	readonly #options: UploadStoreOptions;
	/** Called before an upload to this gateway becomes the current one, with its binary in its place. It may refuse. */
	share: ((upload: Upload) => Promise<void>) | undefined;
	#current: Upload | undefined;
	/** One upload is stored after the other. */
	readonly #queue = new Queue();

	constructor(options: UploadStoreOptions) {
		this.#options = options;
	}

	/**
	 * Loads the current upload and removes incomplete ones.
	 * @throws {NodeJS.ErrnoException} if the folder cannot be read or written
	 */
	async open(): Promise<void> {
		const { disk, directory } = this.#options;
		await makeFolder(disk, directory);
		try {
			this.#current = await this.#readCurrent();
			await this.#sweep((name) => isTemporary(name) || this.#isPrevious(name));
		} catch (error) {
			// Such as an unreadable sector: the gateway still starts, and no binary is removed.
			const why = errorCode(error) ?? String(error);
			this.#reportLoss(`${this.#path("upload.json")} or the binary that it names cannot be read: ${why}`);
			await this.#sweep(isTemporary);
		}
	}

	get current(): Upload | undefined {
		return this.#current;
	}

	pathOf(upload: Upload): string {
		return this.#path(`${upload.sha256}.bin`);
	}

	/**
	 * Starts an upload, which is not visible before `keep`.
	 * @throws {NodeJS.ErrnoException} as may each later step: ENOSPC if the disk is full
	 */
	async begin() {
		const draft = await openDraft(this.#options.disk, this.#path("upload"));
		let size = 0;
		return {
			write: (chunk: Uint8Array): Promise<void> => {
				size += chunk.length;
				return draft.write(chunk);
			},
			/** Makes it the current upload. */
			keep: async (description: Omit<Upload, "size" | "upload_time">): Promise<Upload> => {
				const { now } = this.#options;
				const describe = () => ({ ...description, size, upload_time: new Date(now()).toISOString() });
				return this.#queue.add(() => this.#replace(draft, describe(), this.share));
			},
			/** Removes it; also after a failed `keep`. */
			discard: draft.discard,
		};
	}

	/**
	 * Makes an upload to another gateway the current one.
	 * @throws {NodeJS.ErrnoException} @throws {Error} if the content is another one, or what reading it throws
	 */
	async take(upload: Upload, content: AsyncIterable<Uint8Array>): Promise<void> {
		const draft = await openDraft(this.#options.disk, this.#path("upload"));
		try {
			await fillDraft(draft, content, upload.sha256);
			await this.#queue.add(() => this.#replace(draft, upload));
		} catch (error) {
			await draft.discard();
			throw error;
		}
	}

	async #replace(draft: Draft, upload: Upload, share?: UploadStore["share"]): Promise<Upload> {
		const { disk } = this.#options;
		try {
			await draft.moveTo(this.pathOf(upload));
			await share?.(upload);
			await writeFileAtomic(disk, this.#path("upload.json"), `${JSON.stringify(upload, null, "\t")}\n`);
			this.#current = upload;
		} catch (error) {
			// Whichever step failed, the disk decides. If it cannot be read, both binaries stay until the next
			// start.
			const current = await this.#readCurrent().catch(() => {
				throw error;
			});
			this.#current = current;
			if (!isDeepStrictEqual(current, upload)) {
				await this.#sweep((name) => this.#isPrevious(name));
				throw error;
			}
		}
		await this.#sweep((name) => this.#isPrevious(name));
		return upload;
	}

	/** @throws {NodeJS.ErrnoException} */
	async #readCurrent(): Promise<Upload | undefined> {
		const { disk } = this.#options;
		const path = this.#path("upload.json");
		const content = await ifThere(disk.readFile(path, "utf8"));
		if (content === undefined) return undefined;
		const upload = parseJson(content);
		if (!isUpload(upload))
			return this.#reportLoss(`${path}: ${describeProblem(findProblem(record, upload))}`);
		const binary = await ifThere(disk.readFile(this.pathOf(upload)));
		if (binary === undefined) return this.#reportLoss(`${this.pathOf(upload)} is missing`);
		const sha256 = createHash("sha256").update(binary).digest("hex");
		return sha256 === upload.sha256 && binary.length === upload.size
			? upload
			: this.#reportLoss(`${this.pathOf(upload)} has been changed`);
	}

	#isPrevious(name: string): boolean {
		return name.endsWith(".bin") && name !== `${this.#current?.sha256}.bin`;
	}

	/** A reader that has a file open can read it to its end. */
	async #sweep(isLeftover: (name: string) => boolean): Promise<void> {
		const { disk, directory, onProblem } = this.#options;
		const report = (error: Error) =>
			onProblem(`A file that is not needed any more stays on disk: ${error.message}`);
		for (const name of (await disk.readdir(directory).catch(report)) ?? [])
			if (isLeftover(name)) await disk.rm(this.#path(name), { force: true }).catch(report);
	}

	#reportLoss(why: string): undefined {
		this.#options.onProblem(`The uploaded firmware is lost (${why}); upload it again.`);
	}

	#path(name: string): string {
		return join(this.#options.directory, name);
	}
}

export function isUpload(value: unknown): value is Upload {
	return matches(record, value);
}
