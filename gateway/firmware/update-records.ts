/**
 * The updates of each device on disk, one small file a device, so that an update outlives a restart of the gateway.
 * Changes that come while a file is being written are written together.
 */

import { join } from "node:path";
import { deviceId as deviceIdSchema } from "../../device/protocol/messages.js";
import { isRecord, matches } from "../../device/protocol/schema.js";
import { errorCode } from "../start-error.js";
import { type UpdateJob, updateJob } from "./update-job.js";
import { type Disk, isTemporary, writeWhole } from "./whole-file.js";

export interface UpdateRecordsOptions {
	/** Belongs to these records alone; made where it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

const writersAtMost = 8;

interface Waiting {
	jobs: readonly UpdateJob[];
	readonly done: Promise<void>;
	readonly finish: () => void;
}

export class UpdateRecords {
	readonly #options: UpdateRecordsOptions;
	readonly #waiting = new Map<string, Waiting>();
	readonly #writing = new Map<string, Promise<void>>();

	constructor(options: UpdateRecordsOptions) {
		this.#options = options;
	}

	/**
	 * What the last run left; a file that cannot be understood is reported and left out.
	 *
	 * @returns for each device its updates, the latest last
	 * @throws {NodeJS.ErrnoException} where the folder cannot be read or written
	 */
	async load(): Promise<Map<string, readonly UpdateJob[]>> {
		const { directory, disk, onProblem } = this.#options;
		await disk.mkdir(directory, { recursive: true });
		const records = new Map<string, readonly UpdateJob[]>();
		for (const name of await disk.readdir(directory)) {
			const path = join(directory, name);
			const deviceId = name.replace(/\.json$/, "");
			if (isTemporary(name)) await disk.rm(path, { force: true });
			else if (matches(deviceIdSchema, deviceId)) {
				const jobs = parseJobs(await disk.readFile(path, "utf8"));
				if (jobs) records.set(deviceId, jobs);
				else onProblem(`${path} is damaged; what it said of this device's updates is lost.`);
			}
		}
		return records;
	}

	/** Keeps a device's updates. @returns once they are on disk, or that was reported as impossible */
	save(deviceId: string, jobs: readonly UpdateJob[]): Promise<void> {
		const waiting = this.#waiting.get(deviceId);
		if (waiting) {
			waiting.jobs = jobs;
			return waiting.done;
		}
		let finish = () => {};
		const done = new Promise<void>((resolve) => {
			finish = resolve;
		});
		this.#waiting.set(deviceId, { jobs, done, finish });
		this.#writeNext();
		return done;
	}

	/** Resolves once nothing is left to be written. */
	async settle(): Promise<void> {
		while (this.#writing.size > 0) await Promise.all(this.#writing.values());
	}

	#writeNext(): void {
		for (const [deviceId, { jobs, finish }] of this.#waiting) {
			if (this.#writing.size >= writersAtMost) return;
			if (this.#writing.has(deviceId)) continue;
			this.#waiting.delete(deviceId);
			const written = this.#write(deviceId, jobs).then(() => {
				this.#writing.delete(deviceId);
				finish();
				this.#writeNext();
			});
			this.#writing.set(deviceId, written);
		}
	}

	async #write(deviceId: string, jobs: readonly UpdateJob[]): Promise<void> {
		const { directory, disk, onProblem } = this.#options;
		try {
			await writeWhole(
				disk,
				join(directory, `${deviceId}.json`),
				`${JSON.stringify({ jobs }, null, "\t")}\n`,
			);
		} catch (error) {
			onProblem(`The updates of ${deviceId} could not be kept on disk (${errorCode(error) ?? error}).`);
		}
	}
}

function parseJobs(content: string): readonly UpdateJob[] | undefined {
	try {
		const value: unknown = JSON.parse(content);
		const jobs: unknown = isRecord(value) ? value.jobs : undefined;
		if (!Array.isArray(jobs)) return undefined;
		return jobs.every((job): job is UpdateJob => matches(updateJob, job)) ? jobs : undefined;
	} catch {
		return undefined;
	}
}
