/**
 * The latest upload, the same on all gateways. Its bytes are in the bus's files by their SHA-256, a key says which one
 * counts, and each gateway has it in its own store.
 */

import { createReadStream } from "node:fs";
import { type Bus, BusError } from "../bus.js";
import { isUpload, type Upload, type UploadStore } from "../firmware/upload-store.js";
import { isLater } from "../storage/json-file-store.js";
import { Replication } from "./replication.js";

export interface SharedUploadOptions {
	readonly bus: Bus;
	readonly uploads: UploadStore;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

const key = "upload";

export class SharedUpload {
	readonly #options: SharedUploadOptions;
	readonly #replication: Replication<Upload>;
	/** SHA-256 of the one that counted before. */
	#previous: string | undefined;

	constructor(options: SharedUploadOptions) {
		this.#options = options;
		const { bus, uploads, now, onProblem } = options;
		this.#replication = new Replication<Upload>({
			bus,
			bucket: "gw-state",
			key,
			own: {
				read: async () => uploads.current,
				save: (_key, upload) => this.#fetch(upload),
				remove: async () => {},
			},
			format: (upload) => JSON.stringify(upload),
			parse: (text) => {
				const upload: unknown = JSON.parse(text);
				return isUpload(upload) ? upload : undefined;
			},
			changedAt: ({ upload_time }) => Date.parse(upload_time),
			merge: (theirs, mine) => (isLater(orderOf(mine), orderOf(theirs)) ? mine : theirs),
			prepare: (upload) => this.#send(upload),
			onRecord: () => {},
			now,
			onProblem,
		});
	}

	/** To be called once the upload of the last run is loaded. */
	start(): void {
		const { current } = this.#options.uploads;
		if (current) this.#replication.has(key, current);
		this.#previous = current?.sha256;
		this.#replication.start();
	}

	/** To be called when firmware was uploaded to this gateway. */
	changed(upload: Upload): void {
		this.#replication.changed(key, upload);
	}

	close(): Promise<void> {
		return this.#replication.close();
	}

	async #send(upload: Upload): Promise<void> {
		const files = await this.#options.bus.files("gw-firmware");
		await files.put(upload.sha256, createReadStream(this.#options.uploads.pathOf(upload)));
		if (this.#previous && this.#previous !== upload.sha256) await files.remove(this.#previous);
		this.#previous = upload.sha256;
	}

	/** @throws {BusError} if it is not there yet */
	async #fetch(upload: Upload): Promise<void> {
		const { bus, uploads } = this.#options;
		const files = await bus.files("gw-firmware");
		const content = await files.get(upload.sha256);
		if (!content) throw new BusError("away", `The file ${upload.sha256} is missing.`);
		await uploads.take(upload, content);
		this.#previous = upload.sha256;
	}
}

function orderOf({ upload_time, sha256 }: Upload): readonly (number | string)[] {
	return [Date.parse(upload_time), sha256];
}
