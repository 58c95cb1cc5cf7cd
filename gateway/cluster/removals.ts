/**
 * Removals of records that other gateways may not have been told of yet, in a file: after a restart they would bring the
 * records back.
 */

import { isRecord } from "../../device/protocol/schema.js";
import { type Disk, ifThere, inTurns, writeFileAtomic } from "../storage/atomic-file.js";

export interface RemovalsOptions {
	readonly path: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

export class Removals {
	readonly #options: RemovalsOptions;
	/** In milliseconds since 1970, by key. */
	readonly #removedAt = new Map<string, number>();
	readonly #write: () => Promise<void>;
	/** The latest write. */
	#saving: Promise<void> | undefined;

	constructor(options: RemovalsOptions) {
		this.#options = options;
		const { disk, path } = options;
		this.#write = inTurns(() =>
			writeFileAtomic(disk, path, `${JSON.stringify(Object.fromEntries(this.#removedAt))}\n`),
		);
	}

	/** @returns those of earlier runs; none if the file is damaged */
	async load(): Promise<ReadonlyMap<string, number>> {
		const { disk, path, onProblem } = this.#options;
		try {
			const content: unknown = JSON.parse((await ifThere(disk.readFile(path, "utf8"))) ?? "{}");
			for (const [key, at] of Object.entries(isRecord(content) ? content : {}))
				if (typeof at === "number") this.#removedAt.set(key, at);
		} catch (error) {
			onProblem(`${path} cannot be read (${error}): what was removed without NATS may come back.`);
		}
		return new Map(this.#removedAt);
	}

	/** Resolves once it is on disk, or could not be written. */
	add(key: string, removedAt: number): Promise<void> {
		this.#removedAt.set(key, removedAt);
		return this.#save();
	}

	/** To be called when it was told, or there is a record again. */
	drop(key: string): void {
		if (this.#removedAt.delete(key)) void this.#save();
	}

	/** Resolves once nothing is being written. */
	async close(): Promise<void> {
		await this.#saving;
	}

	#save(): Promise<void> {
		const { path, onProblem } = this.#options;
		this.#saving = this.#write().catch((error: Error) =>
			onProblem(`${path} cannot be written: ${error.message}`),
		);
		return this.#saving;
	}
}
