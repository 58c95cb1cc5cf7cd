/**
 * The latest upload, the same on all gateways: its bytes are in the bus's files by their SHA-256, and a key says which one
 * counts. Each gateway has a copy, from which devices read.
 */

import { createReadStream } from "node:fs";
import { type Bucket, type Bus, BusError, type Entry, type Unsubscribe } from "../bus.js";
import { isUpload, type Upload, type UploadStore } from "../firmware/upload-store.js";
import { parseJson } from "../json.js";
import { HttpProblem } from "../problem.js";
import { whenReached } from "./when-reached.js";

export interface SharedUploadOptions {
	readonly bus: Bus;
	readonly uploads: UploadStore;
	readonly onProblem: (sentence: string) => void;
}

const key = "upload";
/** For a file that a key names, four a second: another gateway may be about to replace both. */
const looksAtMost = 20;

export class SharedUpload {
	readonly #options: SharedUploadOptions;
	#bucket: Bucket | undefined;
	/** As read, or written here. */
	#shared: Entry | undefined;
	#stopWatching: Unsubscribe = () => {};
	#fetching: Promise<void> = Promise.resolve();
	#isClosed = false;

	constructor(options: SharedUploadOptions) {
		this.#options = options;
	}

	/** To be called once the upload of the last run is loaded. Resolves once this gateway has the one that counts. */
	async open(): Promise<void> {
		const { bus, uploads } = this.#options;
		uploads.share = (upload) => this.#share(upload);
		await whenReached(
			() => this.#isClosed,
			async () => {
				const bucket = await bus.bucket("gw-state");
				this.#stopWatching = await bucket.watch((name, entry) => {
					if (name !== key || !entry || entry.revision <= (this.#shared?.revision ?? 0)) return;
					this.#shared = entry;
					this.#fetching = this.#fetching.then(() => this.#fetch(entry));
				});
				this.#bucket = bucket;
				if (!this.#shared && uploads.current) await this.#put(uploads.current);
			},
		);
		await this.#fetching;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		this.#stopWatching();
		await this.#fetching;
	}

	/** @throws {HttpProblem} 503 */
	async #share(upload: Upload): Promise<void> {
		try {
			await this.#put(upload);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			throw new HttpProblem(503, "NATS, where the gateways keep their upload, cannot be reached; try again.");
		}
	}

	/** Of two that are made at one time, the later counts. @throws {BusError} */
	async #put(upload: Upload): Promise<void> {
		const { bus, uploads } = this.#options;
		if (!this.#bucket) throw new BusError("away", "The bucket of the upload is not open.");
		const files = await bus.files("gw-firmware");
		await files.put(upload.sha256, createReadStream(uploads.pathOf(upload)));
		const text = JSON.stringify(upload);
		let before = this.#shared;
		for (;;) {
			const revision = await this.#bucket.set(key, text, before?.revision ?? 0);
			if (revision !== undefined) {
				this.#shared = { text, revision };
				break;
			}
			before = await this.#bucket.get(key);
		}
		const previous = before && parsed(before.text);
		if (previous && previous.sha256 !== upload.sha256) await files.remove(previous.sha256).catch(() => {});
	}

	/** Unless a later one counts by now. */
	#fetch(entry: Entry): Promise<void> {
		const { bus, uploads, onProblem } = this.#options;
		const upload = parsed(entry.text);
		if (!upload) {
			onProblem("The upload of the other gateways is not understood, and is left out.");
			return Promise.resolve();
		}
		const isOutdated = () => this.#isClosed || this.#shared !== entry;
		let looks = 0;
		return whenReached(isOutdated, async () => {
			if (uploads.current?.sha256 === upload.sha256 && uploads.current.upload_time === upload.upload_time)
				return;
			const content = await (await bus.files("gw-firmware")).get(upload.sha256);
			looks += 1;
			// A start waits for this.
			if (!content && looks >= looksAtMost)
				throw new Error(`${upload.sha256} is missing in NATS; upload it again`);
			if (!content) throw new BusError("away", `The file ${upload.sha256} is missing.`);
			await uploads.take(upload, content);
		}).catch((error: Error) =>
			onProblem(`The upload of the other gateways could not be kept: ${error.message}`),
		);
	}
}

function parsed(text: string): Upload | undefined {
	const value = parseJson(text);
	return isUpload(value) ? value : undefined;
}
