/**
 * Starts, tracks, times out and stores the updates of all devices, by device and not by connection, since an update
 * restarts the device.
 */

import { isDeepStrictEqual } from "node:util";
import { type CommandOf, commands, type Uplink } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { OtaStatus } from "../api/statuses.js";
import type { OtaMetadata } from "../api/update.js";
import type { Device } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import type { Records } from "../storage/records.js";
import { hasGone, inProgress, isReplaced, notKept, type UpdateRejection } from "./rejections.js";
import type { Choice, Selection } from "./selection.js";
import {
	beginJob,
	follow,
	type Heard,
	isActive,
	jobsKept,
	metadataOf,
	silenceMs,
	timeOut,
	type UpdateJob,
} from "./update-job.js";

export interface UpdatesOptions {
	readonly selection: Pick<Selection, "choose">;
	/** The latest last. */
	readonly records: Records<readonly UpdateJob[]>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	readonly upload: () => Heard["upload"];
	/** Writes a device's record. @returns whether it is on disk */
	readonly keepDevice: (device: Device) => Promise<boolean>;
	/** Called when the state of an update changes. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
	/** Called once for each update that has ended. */
	readonly onEnded: (outcome: OtaStatus) => void;
	/** CA certificate in PEM for an https base URL; undefined: a public one. */
	readonly certPemFor?: (baseUrl: string) => string | undefined;
}

interface Entry {
	jobs: readonly UpdateJob[];
	/** Undefined until it connects. */
	device?: Device | undefined;
	/** The session of the last transition. */
	sessionId?: string | undefined;
	/** On the monotonic clock: the last message, the start of the latest update, the last end as `updated`. */
	heardAt: number;
	startedAt: number;
	updatedAt: number;
	/** Stored by an earlier run: only the wall clock spans its times. */
	isInherited: boolean;
}

const noJobs: readonly UpdateJob[] = Object.freeze([]);

/** For timeouts, and for writing progress, which comes 4 times a second. */
const intervalMs = 2_000;

export class Updates {
	readonly #options: UpdatesOptions;
	readonly #entries = new Map<string, Entry>();
	/** By device; settles once nothing more is written for it. */
	readonly #beginning = new Map<string, Promise<unknown>>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: UpdatesOptions) {
		this.#options = options;
	}

	readonly sessions: SessionListener = {
		onIdentified: (device) => this.onConnected(device),
		onUplink: ({ device }, uplink) => {
			if (device) this.onUplink(device, uplink);
		},
		onForgotten: ({ deviceId }, why) => {
			if (why !== "removed") void this.forget(deviceId);
		},
	};

	/** Loads what the last run stored. @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		for (const [deviceId, jobs] of await this.#options.records.load())
			this.#entries.set(deviceId, this.#entryOf(jobs));
		this.#timer = setInterval(() => this.expire(), intervalMs).unref();
	}

	/** Resolves once everything is on disk. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.expire();
		await this.#options.records.close();
	}

	/**
	 * Takes in what another process has written.
	 * @param jobs undefined: they were removed
	 * @param device undefined if it is not known yet
	 */
	take(deviceId: string, jobs: readonly UpdateJob[] | undefined, device: Device | undefined): void {
		const known = this.#entries.get(deviceId);
		// For a device that is connected here, the local state is newer.
		if (known && device?.session.isReachable && !device.session.link.isRemote)
			return void this.#options.records.save(deviceId, known.jobs);
		if (jobs) this.#entries.set(deviceId, { ...this.#entryOf(jobs), sessionId: known?.sessionId });
		else this.#entries.delete(deviceId);
		if (device) this.onConnected(device);
	}

	/** Creates an entry of stored jobs, whose durations are known by the wall clock only. */
	#entryOf(jobs: readonly UpdateJob[]): Entry {
		const { now, monotonic } = this.#options;
		const heardAt = monotonic();
		const on = (time = 0) => heardAt - Math.max(0, now() - time);
		const updated = jobs.findLast(({ status }) => status === "updated");
		const startedAt = on(jobs.at(-1)?.startedAt);
		return { jobs, heardAt, startedAt, updatedAt: on(updated?.endedAt), isInherited: true };
	}

	/** Why updates cannot be stored; undefined if they can. */
	get readinessProblem(): string | undefined {
		return this.#options.records.readinessProblem;
	}

	/** The latest last, at most 10. */
	historyOf(deviceId: string): readonly UpdateJob[] {
		return this.#entries.get(deviceId)?.jobs ?? noJobs;
	}

	/** Newest first. */
	latest(count: number): readonly (UpdateJob & { readonly deviceId: string })[] {
		return [...this.#entries]
			.flatMap(([deviceId, { jobs }]) => jobs.map((job) => ({ deviceId, ...job })))
			.sort((a, b) => b.startedAt - a.startedAt)
			.slice(0, count);
	}

	/**
	 * Selects the image, stores the update, and sends `start_ota`.
	 * @param version `latest`, `custom` or a semantic version; undefined: see Selection.choose
	 * @param pinned SHA-256 of the images that it may be; undefined: any
	 * @returns undefined once update and device are on disk and the command is sent
	 */
	async trigger(
		device: Device,
		version: string | undefined,
		pinned?: readonly string[],
	): Promise<UpdateRejection | undefined> {
		const { deviceId } = device;
		if (this.#beginning.has(deviceId) || isActive(this.historyOf(deviceId).at(-1))) return inProgress;
		const begun = this.#choose(device, version, pinned);
		this.#beginning.set(deviceId, begun);
		try {
			return await begun;
		} finally {
			this.#beginning.delete(deviceId);
		}
	}

	async #choose(
		device: Device,
		version: string | undefined,
		pinned: readonly string[] | undefined,
	): Promise<UpdateRejection | undefined> {
		const { selection, certPemFor } = this.#options;
		const { model, chip, securityVersion, firmwareVersion } = device;
		const patchable = device.session.handshake.features.includes("delta") ? firmwareVersion : null;
		const choice = await selection.choose({ model, chip, securityVersion, patchable }, version);
		if (choice.rejection) return choice.rejection;
		if (pinned && !pinned.includes(choice.sha256)) return isReplaced;
		if (!device.session.isReachable) return hasGone;
		const rejection = await this.#begin(device, choice);
		if (rejection) return rejection;
		const { baseUrl } = device.session.handshake;
		const certPem = baseUrl.startsWith("https:") ? certPemFor?.(baseUrl) : undefined;
		const patch = choice.patch && {
			url: baseUrl + choice.patch.path,
			from: choice.patch.from,
			to: choice.patch.to,
		};
		const command: CommandOf<"start_ota"> = {
			command: "start_ota",
			url: baseUrl + choice.path,
			...(certPem && { cert_pem: certPem }),
			...(choice.signature && { signature: choice.signature }),
			// Its address may be longer than a device takes.
			...(matches(commands.start_ota.fields.patch, patch) && { patch }),
		};
		device.session.send(JSON.stringify(command));
		return undefined;
	}

	async #begin(device: Device, choice: Choice): Promise<UpdateRejection | undefined> {
		const { records, now, monotonic, keepDevice } = this.#options;
		const { deviceId } = device;
		for (;;) {
			const jobs = this.historyOf(deviceId);
			if (isActive(jobs.at(-1))) return inProgress;
			const { firmwareVersion: runs, uptimeSeconds } = device;
			const uptime = uptimeSeconds === undefined ? undefined : Math.floor(uptimeSeconds);
			const job = beginJob({ now: now(), runs }, choice.version, choice.upload, uptime);
			const next = [...jobs, job].slice(-jobsKept);
			const kept = await Promise.all([keepDevice(device), records.save(deviceId, next)]);
			const isKept = kept.every(Boolean);
			// A message that arrived meanwhile was stored after it: store both together.
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
					isInherited: false,
				});
				this.#options.setOta(device, metadataOf(job));
				return undefined;
			}
			// Not started: restore the previous jobs on disk.
			if (this.#entries.has(deviceId)) void records.save(deviceId, this.historyOf(deviceId));
			// A removal is not tried again: the update would wait for the device after the next start.
			else if (!(await records.remove(deviceId))) void records.save(deviceId, this.historyOf(deviceId));
			return isKept ? hasGone : notKept;
		}
	}

	/** Sets the state of the update if the device's record differs. */
	onConnected(device: Device): void {
		const entry = this.#entries.get(device.deviceId);
		if (!entry) return;
		entry.device = device;
		const metadata = metadataOf(entry.jobs.at(-1));
		// The process to which the device is connected publishes this, in order with its other messages.
		if (device.session.link.isRemote && device.session.isReachable) return;
		if (!isDeepStrictEqual(device.metadata, metadata)) this.#options.setOta(device, metadata);
	}

	/** @param device shows the uplink's content already */
	onUplink(device: Device, uplink: Uplink): void {
		const { deviceId, firmwareVersion: runs, session } = device;
		const entry = this.#entries.get(deviceId);
		const isAboutUpdate = uplink.type.startsWith("ota_");
		if (!entry && !isAboutUpdate) return;
		const { now, monotonic, upload } = this.#options;
		const { jobs = noJobs, sessionId, startedAt = 0, updatedAt = 0, isInherited = false } = entry ?? {};
		if (entry && isAboutUpdate) entry.heardAt = monotonic();
		const next = follow(jobs, uplink, {
			now: now(),
			ageMs: monotonic() - startedAt,
			isAgeGuessed: isInherited,
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
			isInherited: isInherited && !isAnother,
		});
	}

	/**
	 * @param removeRest removes what else is kept of the device, once its updates are removed
	 * @returns false if something is still on disk; then the updates stay
	 */
	async forget(deviceId: string, removeRest = async () => true): Promise<boolean> {
		const { records } = this.#options;
		await this.#beginning.get(deviceId)?.catch(() => {});
		const entry = this.#entries.get(deviceId);
		// First, or the timer could write them again.
		this.#entries.delete(deviceId);
		const isGone = (await records.remove(deviceId)) && (await removeRest());
		if (!isGone && entry && !this.#entries.has(deviceId)) {
			this.#entries.set(deviceId, entry);
			void records.save(deviceId, entry.jobs);
		}
		return isGone;
	}

	/** Fails updates that timed out, and stores progress since the last call. */
	expire(): void {
		const { now, monotonic, records } = this.#options;
		for (const [deviceId, entry] of this.#entries) {
			const { jobs, device } = entry;
			const job = jobs.at(-1);
			// The other process does so.
			if (device?.session.link.isRemote && device.session.link.isOpen()) continue;
			const silentFor = monotonic() - entry.heardAt;
			if (isActive(job) && silentFor >= silenceMs)
				this.#set(deviceId, { ...entry, jobs: [...jobs.slice(0, -1), timeOut(job, now())] });
			else if (job?.status === "downloading" && silentFor < 2 * intervalMs) void records.save(deviceId, jobs);
		}
	}

	/** Progress of a download is stored later. */
	#set(deviceId: string, entry: Entry): void {
		const jobs = entry.jobs.slice(-jobsKept);
		const [previous, latest] = [this.historyOf(deviceId).at(-1), jobs.at(-1)];
		this.#entries.set(deviceId, { ...entry, jobs });
		if (entry.device) this.#options.setOta(entry.device, metadataOf(latest));
		const isStep = previous?.status === "downloading" && latest?.status === "downloading";
		const status = latest?.status;
		if (status && status !== previous?.status && !isActive(latest)) this.#options.onEnded(status);
		if (!isStep) void this.#options.records.save(deviceId, jobs);
	}
}
