/**
 * The updates of all devices: begins them, follows them by device rather than by connection, gives up on those that fell
 * silent, and remembers how each ended. Without it a device that restarts into its new firmware would be a stranger.
 */

import { isDeepStrictEqual } from "node:util";
import type { CommandOf, Uplink } from "../../device/protocol/messages.js";
import type { RecordFolder } from "../record-folder.js";
import type { Device, OtaMetadata } from "../sessions/device.js";
import type { UpdateRefusal } from "../sessions/updates.js";
import type { Library } from "./library.js";
import {
	advance,
	beginJob,
	giveUp,
	isActive,
	isOpen,
	metadataOf,
	silenceMs,
	type UpdateJob,
} from "./update-job.js";

export interface UpdatesOptions {
	readonly library: Pick<Library, "choose">;
	/** The jobs of each device, the latest last; see update-job.ts for their form on disk. */
	readonly records: RecordFolder<readonly UpdateJob[]>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Milliseconds from any start, on a clock that nobody sets. */
	readonly monotonic: () => number;
	/** A device's update stands differently than before. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
	/** CA certificate in PEM that goes with https addresses; undefined: devices know the gateway's by themselves. */
	readonly certPem?: string | undefined;
}

/** What is remembered of a device. */
interface Entry {
	/** The latest last. */
	jobs: readonly UpdateJob[];
	/** Undefined until it connects. */
	device?: Device | undefined;
	/** The session in which the update last moved on. */
	sessionId?: string | undefined;
	/** On the monotonic clock. */
	heardAt: number;
}

const jobsKept = 10;
/** So often it is seen who fell silent, and progress, which comes 4 times a second, goes to disk. */
const intervalMs = 2_000;

export class Updates {
	readonly #options: UpdatesOptions;
	readonly #entries = new Map<string, Entry>();
	/** Devices for which an image is being looked for. */
	readonly #choosing = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: UpdatesOptions) {
		this.#options = options;
	}

	/** Takes up what the last run left. @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		const heardAt = this.#options.monotonic();
		for (const [deviceId, jobs] of await this.#options.records.load())
			this.#entries.set(deviceId, { jobs, heardAt });
		this.#timer = setInterval(() => this.expire(), intervalMs).unref();
	}

	/** Stops; resolves once everything is on disk. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.expire();
		await this.#options.records.settle();
	}

	/** A device's updates, the latest last, at most 10. */
	historyOf(deviceId: string): readonly UpdateJob[] {
		return this.#entries.get(deviceId)?.jobs ?? [];
	}

	/** The latest updates of all devices, the latest first, each with its device's name. */
	latest(count: number): readonly (UpdateJob & { readonly deviceId: string })[] {
		return [...this.#entries]
			.flatMap(([deviceId, { jobs }]) => jobs.map((job) => ({ deviceId, ...job })))
			.sort((a, b) => b.startedAt - a.startedAt)
			.slice(0, count);
	}

	/**
	 * Picks the image and sends `start_ota`.
	 *
	 * @param version `latest`, `custom` or a semantic version; undefined: see Library.choose
	 * @returns undefined once the command is on its way and the update is on disk
	 */
	async trigger(device: Device, version: string | undefined): Promise<UpdateRefusal | undefined> {
		const { library, now, certPem } = this.#options;
		const { deviceId } = device;
		if (this.#choosing.has(deviceId) || isActive(this.historyOf(deviceId).at(-1)))
			return { code: "ota_in_progress", message: "This device is being updated; wait until that has ended." };
		this.#choosing.add(deviceId);
		try {
			const choice = await library.choose(device, version);
			if (choice.refusal) return choice.refusal;
			if (!device.session.isReachable)
				return { code: "target_offline", message: "The device has gone; wait until it is connected again." };
			const job = beginJob({ now: now(), runs: device.firmwareVersion }, choice.version);
			const saved = this.#put(device, [...this.historyOf(deviceId), job]);
			const url = device.session.introduction.baseUrl + choice.path;
			const cert = certPem && url.startsWith("https:") && { cert_pem: certPem };
			const command: CommandOf<"start_ota"> = { command: "start_ota", url, ...cert };
			device.session.send(JSON.stringify(command));
			await saved;
			return undefined;
		} finally {
			this.#choosing.delete(deviceId);
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
		const { jobs = [], sessionId } = entry ?? {};
		const job = jobs.at(-1);
		const isAboutUpdate = uplink.type.startsWith("ota_");
		const heard = { now: this.#options.now(), runs, isNewSession: session.sessionId !== sessionId };
		if (entry && isAboutUpdate) entry.heardAt = this.#options.monotonic();
		if (isOpen(job, uplink, heard.now)) {
			const next = advance(job, uplink, heard);
			if (next !== job) void this.#put(device, [...jobs.slice(0, -1), next]);
		} else if (isAboutUpdate) {
			// Nobody asked for it here: a start_ota was forwarded to the device.
			void this.#put(device, [...jobs, advance(beginJob(heard, null), uplink, heard)]);
		}
	}

	/** Forgets a device's updates. */
	forget(deviceId: string): void {
		if (!this.#entries.delete(deviceId)) return;
		void this.#options.records.remove(deviceId);
	}

	/** Gives up on updates of which nothing is heard any more, and has on disk how far those are that moved since the last look. */
	expire(): void {
		const { now, monotonic, records } = this.#options;
		for (const [deviceId, entry] of this.#entries) {
			const { jobs } = entry;
			const job = jobs.at(-1);
			const silentFor = monotonic() - entry.heardAt;
			if (isActive(job) && silentFor >= silenceMs)
				void this.#set(deviceId, { ...entry, jobs: [...jobs.slice(0, -1), giveUp(job, now())] });
			else if (job?.status === "downloading" && silentFor < 2 * intervalMs) void records.save(deviceId, jobs);
		}
	}

	#put(device: Device, jobs: readonly UpdateJob[]): Promise<void> {
		const { sessionId } = device.session;
		return this.#set(device.deviceId, { jobs, device, sessionId, heardAt: this.#options.monotonic() });
	}

	/** @returns once it is on disk; a step of a download goes there later */
	async #set(deviceId: string, entry: Entry): Promise<void> {
		const jobs = entry.jobs.slice(-jobsKept);
		const [former, latest] = [this.historyOf(deviceId).at(-1), jobs.at(-1)];
		this.#entries.set(deviceId, { ...entry, jobs });
		if (entry.device) this.#options.setOta(entry.device, metadataOf(latest));
		const isStep = former?.status === "downloading" && latest?.status === "downloading";
		if (!isStep) await this.#options.records.save(deviceId, jobs);
	}
}
