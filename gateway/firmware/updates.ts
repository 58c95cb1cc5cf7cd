/**
 * Starts, tracks, times out and stores the updates of all devices. They are tracked by device instead of connection, as an
 * update restarts the device.
 */

import { isDeepStrictEqual } from "node:util";
import { type CommandOf, commands, type Uplink } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { OtaStatus } from "../api/statuses.js";
import type { OtaMetadata } from "../api/update.js";
import type { Base } from "../base.js";
import type { Device } from "../sessions/device.js";
import type { SessionListeners } from "../sessions/sessions.js";
import type { Records } from "../storage/records.js";
import {
	imageReplaced,
	inProgress,
	storageFailed,
	targetOffline,
	type UpdateRejection,
} from "./rejections.js";
import type { Choice, Selection } from "./selection.js";
import {
	applyUplink,
	createJob,
	isActive,
	maxJobs,
	metadataOf,
	silenceMs,
	timeOut,
	type UpdateJob,
	type UplinkContext,
} from "./update-job.js";

export interface UpdatesOptions extends Pick<Base, "now" | "monotonic"> {
	readonly selection: Pick<Selection, "choose">;
	/** Updates by device id, the latest last. */
	readonly records: Records<readonly UpdateJob[]>;
	readonly upload: () => UplinkContext["upload"];
	/** Writes the record of a device. @returns whether it is on disk */
	readonly saveDevice: (device: Device) => Promise<boolean>;
	/** Called when the state of an update changes. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
	/** Called once for each update that has ended. */
	readonly onEnded: (outcome: OtaStatus) => void;
	/** Returns the CA certificate in PEM for an https base URL; undefined for a public CA. */
	readonly certPemFor?: (baseUrl: string) => string | undefined;
}

interface Entry {
	jobs: readonly UpdateJob[];
	/** Undefined until the device connects. */
	device?: Device | undefined;
	/** Session of the last transition. */
	sessionId?: string | undefined;
	/** Monotonic time of the last message about the update. */
	lastMessageAt: number;
	/** Monotonic time at which the latest update started. */
	startedAt: number;
	/** Monotonic time at which an update last ended as `updated`. */
	updatedAt: number;
	/** Whether it was stored by an earlier run, so that its times are based on the wall clock. */
	isRestored: boolean;
}

const noJobs: readonly UpdateJob[] = Object.freeze([]);

/** Interval for timeouts, and for storing the progress, which is reported 4 times a second. */
const intervalMs = 2_000;

export class Updates {
	readonly #options: UpdatesOptions;
	readonly #entries = new Map<string, Entry>();
	/** Updates being started, by device id. Each settles once nothing more is written. */
	readonly #starting = new Map<string, Promise<unknown>>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: UpdatesOptions) {
		this.#options = options;
	}

	readonly listeners: SessionListeners = {
		deviceIdentified: (device) => this.onConnected(device),
		uplink: ({ device }, uplink) => {
			if (device) this.onUplink(device, uplink);
		},
		deviceForgotten: ({ deviceId }, why) => {
			if (why !== "removed") void this.forget(deviceId);
		},
	};

	/** Loads the stored updates. @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		for (const [deviceId, jobs] of await this.#options.records.load())
			this.#entries.set(deviceId, this.#entryOf(jobs));
		this.#timer = setInterval(() => this.expire(), intervalMs).unref();
	}

	close(): void {
		clearInterval(this.#timer);
		this.expire();
	}

	/**
	 * Applies a record written by another process.
	 * @param jobs undefined: the record was removed
	 * @param device undefined: the device is unknown
	 */
	applyRecord(deviceId: string, jobs: readonly UpdateJob[] | undefined, device: Device | undefined): void {
		const known = this.#entries.get(deviceId);
		// The local state of a device connected to this gateway is newer.
		if (known && device?.session.isReachable && !device.session.link.isRemote)
			return void this.#options.records.save(deviceId, known.jobs);
		if (jobs) this.#entries.set(deviceId, { ...this.#entryOf(jobs), sessionId: known?.sessionId });
		else this.#entries.delete(deviceId);
		if (device) this.onConnected(device);
	}

	/** Creates an entry for stored updates, whose ages are based on the wall clock. */
	#entryOf(jobs: readonly UpdateJob[]): Entry {
		const { now, monotonic } = this.#options;
		const lastMessageAt = monotonic();
		const monotonicTimeOf = (time = 0) => lastMessageAt - Math.max(0, now() - time);
		const updated = jobs.findLast(({ status }) => status === "updated");
		return {
			jobs,
			lastMessageAt,
			startedAt: monotonicTimeOf(jobs.at(-1)?.startedAt),
			updatedAt: monotonicTimeOf(updated?.endedAt),
			isRestored: true,
		};
	}

	/** Returns up to 10 updates of a device, the latest last. */
	historyOf(deviceId: string): readonly UpdateJob[] {
		return this.#entries.get(deviceId)?.jobs ?? noJobs;
	}

	/** Returns the latest updates of all devices, newest first. */
	latest(count: number): readonly (UpdateJob & { readonly deviceId: string })[] {
		return [...this.#entries]
			.flatMap(([deviceId, { jobs }]) => jobs.map((job) => ({ deviceId, ...job })))
			.sort((a, b) => b.startedAt - a.startedAt)
			.slice(0, count);
	}

	/**
	 * Selects the image, stores the update, and sends `start_ota`.
	 * @param version `latest`, `custom` or a semantic version; undefined: see Selection.choose
	 * @param pinned SHA-256 of the allowed images; undefined: any
	 * @returns rejection; undefined once update and device are on disk and the command is sent
	 */
	async trigger(
		device: Device,
		version: string | undefined,
		pinned?: readonly string[],
	): Promise<UpdateRejection | undefined> {
		const { deviceId } = device;
		if (this.#starting.has(deviceId) || isActive(this.historyOf(deviceId).at(-1))) return inProgress;
		const started = this.#start(device, version, pinned);
		this.#starting.set(deviceId, started);
		try {
			return await started;
		} finally {
			this.#starting.delete(deviceId);
		}
	}

	async #start(
		device: Device,
		version: string | undefined,
		pinned: readonly string[] | undefined,
	): Promise<UpdateRejection | undefined> {
		const { selection, certPemFor } = this.#options;
		const { model, chip, securityVersion, firmwareVersion } = device;
		const patchable = device.session.handshake.features.includes("delta") ? firmwareVersion : null;
		const choice = await selection.choose({ model, chip, securityVersion, patchable }, version);
		if (choice.rejection) return choice.rejection;
		if (pinned && !pinned.includes(choice.sha256)) return imageReplaced;
		if (!device.session.isReachable) return targetOffline;
		const rejection = await this.#storeNew(device, choice);
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
			// Omitted if its URL is longer than a device accepts.
			...(matches(commands.start_ota.fields.patch, patch) && { patch }),
		};
		device.session.send(JSON.stringify(command));
		return undefined;
	}

	/** Stores a pending update and the device. */
	async #storeNew(device: Device, choice: Choice): Promise<UpdateRejection | undefined> {
		const { records, now, monotonic, saveDevice } = this.#options;
		const { deviceId } = device;
		for (;;) {
			const jobs = this.historyOf(deviceId);
			if (isActive(jobs.at(-1))) return inProgress;
			const { firmwareVersion: runningVersion, imageId: runningImageId, uptimeSeconds } = device;
			const uptime = uptimeSeconds === undefined ? undefined : Math.floor(uptimeSeconds);
			const job = createJob({ now: now(), runningVersion, runningImageId }, choice, uptime);
			const next = [...jobs, job].slice(-maxJobs);
			const saved = await Promise.all([saveDevice(device), records.save(deviceId, next)]);
			const isSaved = saved.every(Boolean);
			// An uplink received meanwhile overwrote the record: store both together.
			const isReachable = device.session.isReachable;
			if (isSaved && isReachable && this.historyOf(deviceId) !== jobs) continue;
			if (isSaved && isReachable) {
				const { sessionId } = device.session;
				const updatedAt = this.#entries.get(deviceId)?.updatedAt ?? Number.NEGATIVE_INFINITY;
				this.#entries.set(deviceId, {
					jobs: next,
					device,
					sessionId,
					lastMessageAt: monotonic(),
					startedAt: monotonic(),
					updatedAt,
					isRestored: false,
				});
				this.#options.setOta(device, metadataOf(job));
				return undefined;
			}
			// Not started: restore the previous jobs on disk.
			void records.save(deviceId, this.historyOf(deviceId));
			return isSaved ? targetOffline : storageFailed;
		}
	}

	/** Sets the update state of a device if it differs. */
	onConnected(device: Device): void {
		const entry = this.#entries.get(device.deviceId);
		if (!entry) return;
		entry.device = device;
		const metadata = metadataOf(entry.jobs.at(-1));
		// Published by the gateway to which the device is connected, in order with its other messages.
		if (device.session.link.isRemote && device.session.isReachable) return;
		if (!isDeepStrictEqual(device.metadata, metadata)) this.#options.setOta(device, metadata);
	}

	/** @param device already contains the values of the uplink */
	onUplink(device: Device, uplink: Uplink): void {
		const { deviceId, firmwareVersion: runningVersion, imageId: runningImageId, session } = device;
		const entry = this.#entries.get(deviceId);
		const isAboutUpdate = uplink.type.startsWith("ota_");
		if (!entry && !isAboutUpdate) return;
		const { now, monotonic, upload } = this.#options;
		const { jobs = noJobs, sessionId, startedAt = 0, updatedAt = 0, isRestored = false } = entry ?? {};
		if (entry && isAboutUpdate) entry.lastMessageAt = monotonic();
		if (entry && uplink.type === "ota_progress" && jobs.at(-1)?.silent && isCancelable(device)) {
			// The device was told in this session already, or was away when its update timed out.
			if (session.sessionId !== sessionId) cancel(device);
			entry.sessionId = session.sessionId;
			return;
		}
		const next = applyUplink(jobs, uplink, {
			now: now(),
			ageMs: monotonic() - startedAt,
			isAgeEstimated: isRestored,
			updatedAgoMs: monotonic() - updatedAt,
			upload: upload(),
			runningVersion,
			runningImageId,
			isNewSession: session.sessionId !== sessionId,
		});
		if (next === jobs) return;
		const isAdded = next.length > jobs.length;
		const isUpdated = next.at(-1)?.status === "updated";
		const lastMessageAt = monotonic();
		this.#set(deviceId, {
			jobs: next,
			device,
			sessionId: session.sessionId,
			lastMessageAt,
			startedAt: isAdded ? lastMessageAt : startedAt,
			updatedAt: isUpdated ? lastMessageAt : updatedAt,
			isRestored: isRestored && !isAdded,
		});
	}

	/**
	 * Removes the updates of a device.
	 * @param removeRest removes the remaining data of the device, after its updates
	 * @returns false if a removal failed, in which case the updates are restored
	 */
	async forget(deviceId: string, removeRest = async () => true): Promise<boolean> {
		const { records } = this.#options;
		await this.#starting.get(deviceId)?.catch(() => {});
		const entry = this.#entries.get(deviceId);
		// Removed from memory first, as the timer could write it again.
		this.#entries.delete(deviceId);
		const isGone = (await records.remove(deviceId)) && (await removeRest());
		if (!isGone && entry && !this.#entries.has(deviceId)) {
			this.#entries.set(deviceId, entry);
			void records.save(deviceId, entry.jobs);
		}
		return isGone;
	}

	/** Fails and cancels updates that timed out, and stores the progress since the last call. */
	expire(): void {
		const { now, monotonic, records } = this.#options;
		for (const [deviceId, entry] of this.#entries) {
			const { jobs, device } = entry;
			const job = jobs.at(-1);
			// Handled by the gateway to which the device is connected.
			if (device?.session.link.isRemote && device.session.link.isOpen()) continue;
			const silentFor = monotonic() - entry.lastMessageAt;
			if (isActive(job) && silentFor >= silenceMs) {
				const sessionId = device?.session.sessionId ?? entry.sessionId;
				this.#set(deviceId, { ...entry, sessionId, jobs: [...jobs.slice(0, -1), timeOut(job, now())] });
				if (device && isCancelable(device)) cancel(device);
			} else if (job?.status === "downloading" && silentFor < 2 * intervalMs)
				void records.save(deviceId, jobs);
		}
	}

	/** Sets and stores the updates of a device, except for progress, which `expire` stores. */
	#set(deviceId: string, entry: Entry): void {
		const jobs = entry.jobs.slice(-maxJobs);
		const [previous, latest] = [this.historyOf(deviceId).at(-1), jobs.at(-1)];
		this.#entries.set(deviceId, { ...entry, jobs });
		if (entry.device) this.#options.setOta(entry.device, metadataOf(latest));
		const isProgress = previous?.status === "downloading" && latest?.status === "downloading";
		const status = latest?.status;
		if (status && status !== previous?.status && !isActive(latest)) this.#options.onEnded(status);
		if (!isProgress) void this.#options.records.save(deviceId, jobs);
	}
}

function isCancelable({ session }: Device): boolean {
	return session.isReachable && session.handshake.features.includes("cancel");
}

/** Ends an update that counts as failed, so that the device does not install it later. */
function cancel({ session }: Device): void {
	session.send(JSON.stringify({ command: "cancel_ota" } satisfies CommandOf<"cancel_ota">));
}
