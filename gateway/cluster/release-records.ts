/** The releases that gateways have told each other of, as this gateway knows them: in memory, and in a file. */

import { isRecord } from "../../device/protocol/schema.js";
import { parseRelease, type Release, type ReleaseFile } from "../firmware/catalog.js";
import { type Disk, ifThere, inTurns, writeFileAtomic } from "../storage/atomic-file.js";

export interface SharedRelease {
	readonly release: Release;
	/** When a gateway told of it, in milliseconds since 1970. */
	readonly at: number;
}

export interface ReleaseRecord extends SharedRelease {
	/** This gateway's RELEASES_DIR has it too, or had it when it was last looked at. */
	readonly isOwn: boolean;
	/** By its gateway, on the monotonic clock; undefined after a restart, until the bus tells it again. */
	readonly removedAt?: number;
}

export class ReleaseRecords {
	readonly #disk: Disk;
	readonly #path: string;
	readonly #write: () => Promise<void>;
	/** By version. */
	readonly #records = new Map<string, ReleaseRecord>();

	constructor(disk: Disk, path: string) {
		this.#disk = disk;
		this.#path = path;
		this.#write = inTurns(() => {
			const content = this.all.map(({ removedAt: _, ...record }) => record);
			return writeFileAtomic(disk, path, `${JSON.stringify(content)}\n`);
		});
	}

	/** Also those that were removed. */
	get all(): readonly ReleaseRecord[] {
		return [...this.#records.values()];
	}

	/** @throws {Error} if the file cannot be read or is damaged; then there may be some or none */
	async load(): Promise<void> {
		const content = await ifThere(this.#disk.readFile(this.#path, "utf8"));
		const list: unknown = JSON.parse(content ?? "[]");
		for (const value of Array.isArray(list) ? list : []) {
			const shared = parseShared(value);
			const isOwn = isRecord(value) && value.isOwn === true;
			this.#records.set(shared.release.version, { ...shared, isOwn });
		}
	}

	/** @returns undefined if there is none, or it was removed */
	find(version: string): ReleaseRecord | undefined {
		const record = this.#records.get(version);
		return record?.removedAt === undefined ? record : undefined;
	}

	/** @throws {NodeJS.ErrnoException} it is in memory all the same */
	set(record: ReleaseRecord): Promise<void> {
		this.#records.set(record.release.version, record);
		return this.#write();
	}

	markRemoved(version: string, removedAt: number): void {
		const record = this.find(version);
		if (record) this.#records.set(version, { ...record, removedAt });
	}

	/** Those that were not replaced since. @throws {NodeJS.ErrnoException} */
	async forget(records: readonly ReleaseRecord[]): Promise<void> {
		for (const record of records)
			if (this.#records.get(record.release.version) === record) this.#records.delete(record.release.version);
		if (records.length > 0) await this.#write();
	}

	/** Writes once more, so that nothing is being written after it. */
	async close(): Promise<void> {
		await this.#write().catch(() => {});
	}
}

/** @throws {Error} */
export function parseShared(value: unknown): SharedRelease {
	if (!isRecord(value) || typeof value.at !== "number") throw new Error("at is missing");
	return { release: parseRelease(value.release, "release"), at: value.at };
}

export function filesOf({ images }: Release): readonly ReleaseFile[] {
	return images.flatMap((image) => [image, ...(image.flash ?? [])]);
}

/** SHA-256 of the files of all. */
export function digestsOf(releases: readonly Release[]): ReadonlySet<string> {
	return new Set(releases.flatMap(filesOf).map(({ sha256 }) => sha256));
}
