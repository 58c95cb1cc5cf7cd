/**
 * Jobs of one type, such as announcements, that this gateway runs. They are in memory, as each ends within minutes. Subscribed monitors
 * receive the changes of each job in one frame, at most 4 times a second.
 */

import { randomBytes } from "node:crypto";
import { checkUplink } from "../../device/protocol/messages.js";
import type { DeviceEvent } from "../api/confirmation.js";
import { parseJson } from "../api/json.js";
import type { Targets } from "../api/targets.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { isEndReason } from "../sessions/view.js";
import type { MonitorMessage, Rejected } from "../sockets/monitor-commands.js";
import { type Moment, type Parts, partsAtOnce, type ShownPart } from "./parts.js";
import { targetsOf } from "./targets.js";

/** Job as returned by `GET`. */
export interface JobDescription {
	readonly id: string;
	/** UTC. */
	readonly createdAt: string;
	readonly counts: Readonly<Record<string, number>>;
	readonly devices: readonly ShownPart<string>[];
}

export interface Job<D extends JobDescription> {
	readonly id: string;
	readonly parts: {
		readonly endedAt: Parts<string>["endedAt"];
		endedBefore: Parts<string>["endedBefore"];
		shown(): readonly D["devices"][number][];
		takeChanges(): readonly D["devices"][number][];
	};
	/** Ids of the devices whose uplinks the job needs. */
	readonly followed: Iterable<string>;
	head(): Head<D>;
	/** Returns a frame for monitors. @param devices changed devices */
	frameOf(devices: readonly D["devices"][number][]): string;
}

/** Job without its devices. */
export type Head<D extends JobDescription> = Omit<D, "devices"> & Omit<JobDescription, "devices">;
export type Described<D extends JobDescription> = Head<D> & {
	readonly devices: readonly D["devices"][number][];
};

export interface JobsOptions<J> {
	readonly core: Pick<Core, "sessions" | "monitors" | "execute" | "now" | "monotonic" | "log">;
	/** Name of the monitor channel, and part of request paths. */
	readonly channel: string;
	/** Noun for messages, such as "announcement". */
	readonly noun: string;
	/** Called with each uplink and connection change of a followed device. */
	readonly onEvent: (deviceId: string, event: DeviceEvent) => void;
	/** Called 4 times a second for each job, and before it is forgotten. */
	readonly onTick: (job: J) => void;
	/** Called when a person stops a job. */
	readonly onStop: (job: J) => void;
	/** Time after the end of a job during which devices may still report about it. */
	readonly followedMs: number;
	/** Called with each frame for monitors, including those of other gateways' jobs. */
	readonly onShown?: (frame: string) => void;
}

const maxKept = 100;
const maxRunning = 20;
const tickMs = 250;

export class Jobs<D extends JobDescription, J extends Job<D>> {
	/** Called with each frame for monitors. */
	onFrame: ((frame: string) => void) | undefined;
	readonly options: JobsOptions<J>;
	/** Jobs by id, oldest first. */
	readonly #jobs = new Map<string, J>();
	/** Ids of devices whose uplinks are needed. */
	readonly #followed = new Set<string>();
	#unfollow: (() => void) | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: JobsOptions<J>) {
		this.options = options;
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }, reason) => {
			if (reason === "connected") this.#onEvent(device?.deviceId, { type: "connected" });
			else if (isEndReason(reason)) this.#onEvent(device?.deviceId, { type: "gone" });
		},
		uplink: ({ device }, uplink) => this.#onEvent(device?.deviceId, uplink),
		uplinkRelayed: ({ device }, text) => {
			if (!device || !this.#followed.has(device.deviceId)) return;
			const checked = checkUplink(parseJson(text.toString()));
			if (checked.problem === undefined) this.#onEvent(device.deviceId, checked.uplink);
		},
	};

	/** Returns all jobs, oldest first. */
	all(): Iterable<J> {
		return this.#jobs.values();
	}

	get(id: string): J | undefined {
		return this.#jobs.get(id);
	}

	get moment(): Moment {
		const { now, monotonic } = this.options.core;
		return { now: now(), monotonic: monotonic() };
	}

	/** @returns ids of devices, known or not @throws {RequestError} 422 */
	devicesOf(targets: Targets): readonly string[] {
		return targetsOf(this.options.core.sessions.devices, targets);
	}

	/** @returns id of a new job, and the ids of its devices @throws {RequestError} 409 if too many jobs are running; 422 */
	plan(targets: Targets): { readonly id: string; readonly devices: readonly string[] } {
		const { channel } = this.options;
		const devices = this.devicesOf(targets);
		const running = [...this.#jobs.values()].filter(({ parts }) => parts.endedAt === null);
		if (running.length >= maxRunning)
			throw new RequestError(409, `${maxRunning} ${channel} are running, the maximum. Wait until one ends.`);
		return { id: randomBytes(8).toString("hex"), devices };
	}

	add(job: J): void {
		const { core, noun } = this.options;
		this.#jobs.set(job.id, job);
		for (const other of this.#jobs.values())
			if (other.parts.endedAt !== null && this.#jobs.size > maxKept) this.forget(other);
		this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
		this.follow();
		core.log.info({ id: job.id }, noun);
	}

	/** Removes one that has ended. */
	forget(job: J): void {
		this.options.onTick(job);
		this.#jobs.delete(job.id);
	}

	/** Subscribes to the uplinks of the devices that the jobs follow. To be called when these change. */
	follow(): void {
		const { monitors } = this.options.core;
		this.#followed.clear();
		for (const job of this.#jobs.values())
			if (this.#isFollowed(job)) for (const id of job.followed) this.#followed.add(id);
		this.#unfollow ??= monitors.subscribe(this.#followed);
		monitors.onSubscriptionChanged();
	}

	/** Executes a message for a device as if a monitor had sent it. @returns rejection; undefined if it was executed */
	async execute(message: MonitorMessage): Promise<Rejected["rejection"] | undefined> {
		const { execute, log } = this.options.core;
		try {
			return (await execute(message)).rejection;
		} catch (error) {
			log.error({ deviceId: message.targetId, err: error }, "sending a command failed");
			return { code: "invalid_command", message: "Sending the command failed. See the gateway's log." };
		}
	}

	/** Returns the frames for a new subscriber. */
	frames(): readonly string[] {
		const running = [...this.#jobs.values()].filter(({ parts }) => parts.endedAt === null);
		return running.flatMap((job) => {
			const devices = job.parts.shown();
			const starts = [...devices.keys()].filter((index) => index % partsAtOnce === 0);
			return starts.map((start) => job.frameOf(devices.slice(start, start + partsAtOnce)));
		});
	}

	/** Broadcasts a frame. @param frame frame of a job of this or another gateway */
	show(frame: string): void {
		const { core, channel, onShown } = this.options;
		core.monitors.broadcast(channel, frame);
		onShown?.(frame);
	}

	close(): void {
		clearInterval(this.#timer);
		this.#timer = undefined;
		this.#followed.clear();
		this.#unfollow?.();
		this.#unfollow = undefined;
	}

	#onEvent(deviceId: string | undefined, event: DeviceEvent): void {
		if (deviceId !== undefined && this.#followed.has(deviceId)) this.options.onEvent(deviceId, event);
	}

	#isFollowed({ parts }: J): boolean {
		return !parts.endedBefore(this.options.followedMs, this.moment);
	}

	#tick(): void {
		const { onTick } = this.options;
		for (const job of this.#jobs.values()) {
			onTick(job);
			for (let some = job.parts.takeChanges(); some.length > 0; some = job.parts.takeChanges()) {
				const frame = job.frameOf(some);
				this.show(frame);
				this.onFrame?.(frame);
			}
		}
		if (![...this.#jobs.values()].some((job) => this.#isFollowed(job))) this.close();
	}
}
