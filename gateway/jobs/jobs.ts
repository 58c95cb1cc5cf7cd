/**
 * Jobs on many devices that this gateway has begun, such as announcements. They are kept in memory, since each is over in minutes;
 * monitors that ask for them get each one's changes in one frame, at most 4 times a second.
 */

import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { isDue } from "../storage/time.js";

/** As `GET` shows it. */
export interface JobDescription {
	readonly id: string;
	/** UTC. */
	readonly createdAt: string;
	readonly counts: Readonly<Record<string, number>>;
	readonly devices: readonly object[];
}

export interface Job<D extends JobDescription> {
	readonly id: string;
	/** Milliseconds since 1970; null: not all devices have ended. */
	readonly endedAt: number | null;
	describe(): D;
	/** For a monitor that connects while it runs. */
	frame(): string;
	/** With what has changed since the last one, of a large job a part of that; undefined: nothing. */
	nextFrame(): string | undefined;
}

export interface JobsOptions<J> {
	readonly core: Pick<Core, "monitors" | "now">;
	/** Of monitors, and in the path of requests. */
	readonly channel: string;
	/** For refusals, such as "announcement". */
	readonly noun: string;
	/** Called 4 times a second for each job. */
	readonly onTick: (job: J) => void;
	/** Called when no job has run for `followedMs`. */
	readonly onRest: () => void;
	/** After a job's end, while devices may still say something of it. */
	readonly followedMs: number;
}

const keptAtMost = 100;
const runningAtMost = 20;
const tickMs = 250;

export class Jobs<D extends JobDescription, J extends Job<D>> {
	/** Called with the id of each job that begins, and awaited before it is answered. */
	onBegun: ((id: string) => Promise<void>) | undefined;
	/** Called with each frame for monitors. */
	onFrame: ((frame: string) => void) | undefined;
	readonly options: JobsOptions<J>;
	/** By id, the oldest first. */
	readonly #jobs = new Map<string, J>();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: JobsOptions<J>) {
		this.options = options;
	}

	/** The oldest first. */
	all(): Iterable<J> {
		return this.#jobs.values();
	}

	get(id: string): J | undefined {
		return this.#jobs.get(id);
	}

	/** @throws {HttpProblem} 404 */
	known(id: string): J {
		const job = this.#jobs.get(id);
		if (job) return job;
		const { noun, channel } = this.options;
		throw new HttpProblem(404, `No ${noun} is called ${id}; see /api/${channel}.`);
	}

	/** The newest first, each described when it is asked for: that of many devices takes long. */
	*list(): Generator<D> {
		for (const job of [...this.#jobs.values()].reverse()) yield job.describe();
	}

	/** @throws {HttpProblem} 404 */
	find(id: string): D {
		return this.known(id).describe();
	}

	/** @throws {HttpProblem} 409: too many run */
	checkRoom(): void {
		const running = [...this.#jobs.values()].filter(({ endedAt }) => endedAt === null);
		if (running.length < runningAtMost) return;
		throw new HttpProblem(
			409,
			`${runningAtMost} ${this.options.channel} are running; wait until one has ended.`,
		);
	}

	add(job: J): void {
		this.#jobs.set(job.id, job);
		for (const other of this.#jobs.values()) {
			if (other.endedAt !== null && this.#jobs.size > keptAtMost) this.forget(other);
		}
		this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
	}

	/** Removes one that has ended. */
	forget(job: J): void {
		// It may have to end what belongs to this one.
		this.options.onTick(job);
		this.#jobs.delete(job.id);
	}

	/** For a monitor that asks for jobs. */
	frames(): readonly string[] {
		return [...this.#jobs.values()].filter(({ endedAt }) => endedAt === null).map((job) => job.frame());
	}

	close(): void {
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#tick(): void {
		const { core, channel, onTick, onRest, followedMs } = this.options;
		for (const job of this.#jobs.values()) {
			onTick(job);
			for (let frame = job.nextFrame(); frame !== undefined; frame = job.nextFrame()) {
				core.monitors.broadcast(channel, frame);
				this.onFrame?.(frame);
			}
		}
		const isFollowed = ({ endedAt }: J) =>
			endedAt === null || !isDue(endedAt + followedMs, core.now(), followedMs);
		if ([...this.#jobs.values()].some(isFollowed)) return;
		this.close();
		onRest();
	}
}
