/**
 * The updates of all devices: begins them, follows them by device rather than by connection, gives up on those that fell
 * silent, and remembers how each ended. Without it a device that restarts into its new firmware would be a stranger.
 */

import { isDeepStrictEqual } from "node:util";
import type { CommandOf, Uplink } from "../../device/protocol/messages.js";
import type { RecordFolder } from "../record-folder.js";
import type { Device, OtaMetadata } from "../sessions/device.js";
import type { Choice, Selection, UpdateRefusal } from "./selection.js";
import {
	beginJob,
	follow,
	giveUp,
	type Heard,
	isActive,
	metadataOf,
	silenceMs,
	type UpdateJob,
} from "./update-job.js";

export interface UpdatesOptions {
	readonly selection: Pick<Selection, "choose">;
	/** The jobs of each device, the latest last; see update-job.ts for their form on disk. */
	readonly records: RecordFolder<readonly UpdateJob[]>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Milliseconds from any start, on a clock that no one sets. */
	readonly monotonic: () => number;
	/** The upload that is served now. */
	readonly upload: () => Heard["upload"];
	/** Writes the record of a device. Resolves to whether it is on disk. */
	readonly keepDevice: (device: Device) => Promise<boolean>;
	/** A device's update stands differently than before. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
	/** CA certificate in PEM that goes with an https address; undefined: devices know the authority by themselves. */
	readonly certPemFor?: (baseUrl: string) => string | undefined;
}

/** What is remembered of a device. */
interface Entry {
	/** The latest last. */
	jobs: readonly UpdateJob[];
	/** Undefined until it connects. */
	device?: Device | undefined;
	/** The session in which the update last moved on. */
	sessionId?: string | undefined;
	/** When the update was last heard of, the latest one began, and one last ended as `updated`; on the monotonic clock. */
	heardAt: number;
	startedAt: number;
	updatedAt: number;
}

const noJobs: readonly UpdateJob[] = Object.freeze([]);

const inProgress: UpdateRefusal = Object.freeze({
	code: "ota_in_progress",
	message: "This device is being updated; wait until that has ended.",
});
const hasGone: UpdateRefusal = Object.freeze({
	code: "target_offline",
	message: "The device has gone; wait until it is connected again.",
});
const notKept: UpdateRefusal = Object.freeze({
	code: "storage_failed",
	message: "The update could not be written to the gateway's disk and was not started; see /readyz.",
});

const jobsKept = 10;
/** So often it is seen who fell silent, and progress, which comes 4 times a second, goes to disk. */
const intervalMs = 2_000;

export class Updates {
	readonly #options: UpdatesOptions;
	readonly #entries = new Map<string, Entry>();
	/** Of each device for which one is being begun: settles once nothing more is written for it. */
	readonly #beginning = new Map<string, Promise<unknown>>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: UpdatesOptions) {
		this.#options = options;
	}

	/** Takes up what the last run left. @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		const { records, now, monotonic } = this.#options;
		const heardAt = monotonic();
		// Nothing but the clock on the wall spans a restart: it says once how long ago that was, and counts no more after.
		const on = (time = 0) => heardAt - Math.max(0, now() - time);
		for (const [deviceId, jobs] of await records.load()) {
			const updated = jobs.findLast(({ status }) => status === "updated");
			const startedAt = on(jobs.at(-1)?.startedAt);
			this.#entries.set(deviceId, { jobs, heardAt, startedAt, updatedAt: on(updated?.endedAt) });
		}
		this.#timer = setInterval(() => this.expire(), intervalMs).unref();
	}

	/** Stops; resolves once everything is on disk. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.expire();
		await this.#options.records.close();
	}

	/** Why updates cannot be kept on disk at the moment, as a sentence; undefined where they can. */
	get obstacle(): string | undefined {
		return this.#options.records.obstacle;
	}

	/** A device's updates, the latest last, at most 10. */
	historyOf(deviceId: string): readonly UpdateJob[] {
		return this.#entries.get(deviceId)?.jobs ?? noJobs;
	}

	/** The latest updates of all devices, the latest first, each with its device's name. */
	latest(count: number): readonly (UpdateJob & { readonly deviceId: string })[] {
		return [...this.#entries]
			.flatMap(([deviceId, { jobs }]) => jobs.map((job) => ({ deviceId, ...job })))
			.sort((a, b) => b.startedAt - a.startedAt)
			.slice(0, count);
	}

	/**
	 * Picks the image, writes down that it is sent, and sends `start_ota`.
	 *
	 * @param version `latest`, `custom` or a semantic version; undefined: see Selection.choose
	 * @returns undefined once the update and its device are on disk and the command is on its way
	 */
	async trigger(device: Device, version: string | undefined): Promise<UpdateRefusal | undefined> {
		const { deviceId } = device;
		if (this.#beginning.has(deviceId) || isActive(this.historyOf(deviceId).at(-1))) return inProgress;
		const begun = this.#choose(device, version);
		this.#beginning.set(deviceId, begun);
		try {
			return await begun;
		} finally {
			this.#beginning.delete(deviceId);
		}
	}

	async #choose(device: Device, version: string | undefined): Promise<UpdateRefusal | undefined> {
		const { selection, certPemFor } = this.#options;
		const choice = await selection.choose(device, version);
		if (choice.refusal) return choice.refusal;
		if (!device.session.isReachable) return hasGone;
		const refusal = await this.#begin(device, choice);
		if (refusal) return refusal;
		const { baseUrl } = device.session.introduction;
		const certPem = baseUrl.startsWith("https:") ? certPemFor?.(baseUrl) : undefined;
		const command: CommandOf<"start_ota"> = {
			command: "start_ota",
			url: baseUrl + choice.path,
			...(certPem && { cert_pem: certPem }),
		};
		device.session.send(JSON.stringify(command));
		return undefined;
	}

	/** Writes down an update before anyone is told of it. */
	async #begin(device: Device, choice: Choice): Promise<UpdateRefusal | undefined> {
		const { records, now, monotonic, keepDevice } = this.#options;
		const { deviceId } = device;
		for (;;) {
			const jobs = this.historyOf(deviceId);
			if (isActive(jobs.at(-1))) return inProgress;
			const job = beginJob({ now: now(), runs: device.firmwareVersion }, choice.version, choice.upload);
			const next = [...jobs, job].slice(-jobsKept);
			const kept = await Promise.all([keepDevice(device), records.save(deviceId, next)]);
			const isKept = kept.every(Boolean);
			// What the device said meanwhile is written after it: then both are to be written together.
			const isReachable = device.session.isReachable;
			if (isKept && isReachable && this.historyOf(deviceId) !== jobs) continue;
			if (isKept && isReachable) {
				const { sessionId } = device.session;
				const updatedAt = this.#entries.get(deviceId)?.updatedAt ?? Number.NEGATIVE_INFINITY;
				this.#entries.set(deviceId, {
					jobs: next,
					device,
					sessionId,
					heardAt: monotonic(),
					startedAt: monotonic(),
					updatedAt,
				});
				this.#options.setOta(device, metadataOf(job));
				return undefined;
			}
			// It was not begun: what was known before is what is to be on disk.
			if (this.#entries.has(deviceId)) void records.save(deviceId, this.historyOf(deviceId));
			// A removal is not tried again, but after the next start it would be an update that waits for the device.
			else if (!(await records.remove(deviceId))) void records.save(deviceId, this.historyOf(deviceId));
			return isKept ? hasGone : notKept;
		}
	}

	/** A device is there: shows how its latest update stands, where the device's record does not yet. */
	onConnected(device: Device): void {
		const entry = this.#entries.get(device.deviceId);
		if (!entry) return;
		entry.device = device;
		const metadata = metadataOf(entry.jobs.at(-1));
		if (!isDeepStrictEqual(device.metadata, metadata)) this.#options.setOta(device, metadata);
	}

	/** A valid uplink; `device` shows already what a state report says. */
	onUplink(device: Device, uplink: Uplink): void {
		const { deviceId, firmwareVersion: runs, session } = device;
		const entry = this.#entries.get(deviceId);
		const isAboutUpdate = uplink.type.startsWith("ota_");
		if (!entry && !isAboutUpdate) return;
		const { now, monotonic, upload } = this.#options;
		const { jobs = noJobs, sessionId, startedAt = 0, updatedAt = 0 } = entry ?? {};
		if (entry && isAboutUpdate) entry.heardAt = monotonic();
		const next = follow(jobs, uplink, {
			now: now(),
			ageMs: monotonic() - startedAt,
			updatedAgoMs: monotonic() - updatedAt,
			upload: upload(),
			runs,
			isNewSession: session.sessionId !== sessionId,
		});
		if (next === jobs) return;
		const isAnother = next.length > jobs.length;
		const isUpdated = next.at(-1)?.status === "updated";
		const heardAt = monotonic();
		this.#set(deviceId, {
			jobs: next,
			device,
			sessionId: session.sessionId,
			heardAt,
			startedAt: isAnother ? heardAt : startedAt,
			updatedAt: isUpdated ? heardAt : updatedAt,
		});
	}

	/** Forgets a device's updates. @returns whether they are gone from disk; where not, they stay */
	async forget(deviceId: string): Promise<boolean> {
		const { records } = this.#options;
		await this.#beginning.get(deviceId)?.catch(() => {});
		const entry = this.#entries.get(deviceId);
		// First, or a look at the clock meanwhile would write them again.
		this.#entries.delete(deviceId);
		const isGone = await records.remove(deviceId);
		if (!isGone && entry && !this.#entries.has(deviceId)) {
			this.#entries.set(deviceId, entry);
			void records.save(deviceId, entry.jobs);
		}
		return isGone;
	}

	/** Gives up on updates of which nothing is heard any more, and has on disk how far those are that moved since the last look. */
	expire(): void {
		const { now, monotonic, records } = this.#options;
		for (const [deviceId, entry] of this.#entries) {
			const { jobs } = entry;
			const job = jobs.at(-1);
			const silentFor = monotonic() - entry.heardAt;
			if (isActive(job) && silentFor >= silenceMs)
				this.#set(deviceId, { ...entry, jobs: [...jobs.slice(0, -1), giveUp(job, now())] });
			else if (job?.status === "downloading" && silentFor < 2 * intervalMs) void records.save(deviceId, jobs);
		}
	}

	/** Takes in a change; a step of a download goes to disk later. */
	#set(deviceId: string, entry: Entry): void {
		const jobs = entry.jobs.slice(-jobsKept);
		const [former, latest] = [this.historyOf(deviceId).at(-1), jobs.at(-1)];
		this.#entries.set(deviceId, { ...entry, jobs });
		if (entry.device) this.#options.setOta(entry.device, metadataOf(latest));
		const isStep = former?.status === "downloading" && latest?.status === "downloading";
		if (!isStep) void this.#options.records.save(deviceId, jobs);
	}
}
