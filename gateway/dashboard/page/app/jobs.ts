/** Jobs of the gateway, commands or announcements for many devices, with the result of each device. They outlive this page. */

import { type Counts, Job, type JobKind, type Part } from "../model/job.js";

/** Job without its devices, as listed. */
interface Head<P extends Part> {
	readonly id: string;
	/** Name of the token that started it; null if unknown. */
	readonly by: string | null;
	/** ISO 8601, like `endedAt`. */
	readonly createdAt: string;
	readonly endedAt: string | null;
	readonly counts: Counts<P>;
}

/** Requests for jobs of one kind. @template B body that starts a job */
export interface JobRequests<H, P, B> {
	start(body: B): Promise<{ readonly id: string }>;
	/** Lists jobs without their devices. */
	list(): Promise<readonly H[]>;
	read(id: string): Promise<H & { readonly devices: readonly P[] }>;
	stop(id: string): Promise<unknown>;
}

/** @template H listed job @template T fields for the title */
export interface JobsOptions<P extends Part, T, H, B> {
	readonly requests: JobRequests<H, P, B>;
	readonly kind: JobKind<P["state"]>;
	readonly titleOf: (head: T) => string;
	/** Whether to show a job that ended `agoMs` ago. */
	readonly isShown: (head: Pick<Head<P>, "by" | "counts">, agoMs: number) => boolean;
	readonly now: () => number;
	readonly onChanged: () => void;
	/** Called when all devices of a job succeeded, which is then hidden; or when a job that can be undone has ended. */
	readonly onDone?: (job: Job<P>) => void;
}

/** Change of a job: a frame, or a listed job with its changed devices. */
interface JobChange<P extends Part> extends Omit<Head<P>, "endedAt"> {
	readonly devices: readonly P[];
	readonly isOver: boolean;
}

export class Jobs<P extends Part, T, H extends Head<P> & T, B> {
	readonly #options: JobsOptions<P, T, H, B>;
	readonly #jobs = new Map<string, Job<P>>();
	readonly #heads = new Map<string, H>();
	/** Number of jobs whose id the gateway has not returned yet. They may end before. */
	#starting = 0;
	/** Ids of dismissed and completed jobs, which a late message must not show again. */
	readonly #hidden = new Set<string>();

	constructor(options: JobsOptions<P, T, H, B>) {
		this.#options = options;
	}

	/** Jobs, the oldest first. */
	get all(): readonly (readonly [id: string, job: Job<P>])[] {
		return [...this.#jobs].sort(([, a], [, b]) => a.options.createdAt.localeCompare(b.options.createdAt));
	}

	/** Whether a running job would end with this page. */
	get needsPage(): boolean {
		return [...this.#jobs.values()].some(({ options, isRunning }) => options.isOfPage && isRunning);
	}

	/** Listed job as last loaded; undefined if it was not. */
	head(id: string): H | undefined {
		return this.#heads.get(id);
	}

	/** Starts a job of the gateway. @throws {Rejection} */
	async start(body: B, undo?: () => void): Promise<void> {
		this.#starting += 1;
		try {
			const { id } = await this.#options.requests.start(body);
			await this.read(id);
			const job = this.#jobs.get(id);
			if (job) job.undo = undo;
		} finally {
			this.#starting -= 1;
			this.settle();
		}
	}

	/** Adds a job of this page. */
	add(job: Job<P>): void {
		this.#jobs.set(`here ${this.#jobs.size} ${Date.now()}`, job);
		this.settle();
	}

	/** Hides an ended job, also for pages that are opened later. */
	dismiss(id: string): void {
		// The gateway may no longer have the job.
		if (!this.#jobs.get(id)?.options.isOfPage) this.#options.requests.stop(id).catch(() => {});
		this.#jobs.delete(id);
		this.#hidden.add(id);
		this.#options.onChanged();
	}

	onUpdate(change: JobChange<P> & T, agoMs = 0): void {
		const { id, createdAt, devices, counts, isOver } = change;
		if (this.#hidden.has(id)) return;
		const { kind, titleOf, isShown } = this.#options;
		const cancel = () => this.#options.requests.stop(id);
		const job = this.#jobs.get(id) ?? new Job<P>({ title: titleOf(change), kind, createdAt, cancel });
		job.merge(devices, counts);
		if (isOver && !isShown(change, agoMs)) this.#jobs.delete(id);
		else this.#jobs.set(id, job);
		this.settle();
	}

	/** Removes jobs whose devices all succeeded. */
	settle(): void {
		const { onDone, onChanged } = this.#options;
		if (onDone && this.#starting === 0)
			for (const [id, job] of this.#jobs)
				if (job.count() > 0 && !job.isRunning) {
					const isDone = job.count() === job.count("done");
					if (isDone || job.undo) onDone(job);
					if (isDone) {
						this.#jobs.delete(id);
						this.#hidden.add(id);
					}
					job.undo = undefined;
				}
		onChanged();
	}

	/** Reloads jobs after a connect, since frames about ended jobs are not repeated. */
	async onLive(): Promise<void> {
		// After a failure the next connection tries again.
		const heads = await this.#options.requests.list().catch(() => []);
		for (const head of heads) {
			const wasRunning = this.#jobs.get(head.id)?.isRunning;
			this.#update(head, []);
			if (wasRunning) await this.read(head.id);
		}
		const isListed = (id: string) => heads.some((head) => head.id === id);
		for (const [id, job] of this.#jobs)
			if (!job.options.isOfPage && job.isRunning && !isListed(id))
				job.problem = "Gateway restarted. Results of the remaining devices are unknown.";
		this.#options.onChanged();
	}

	/** Loads a job with all its devices; keeps the known state on failure. */
	async read(id: string): Promise<void> {
		const read = await this.#options.requests.read(id).catch(() => undefined);
		if (read) this.#update(read, read.devices);
	}

	#update(head: H, devices: readonly P[]): void {
		const { id, endedAt } = head;
		this.#heads.set(id, head);
		const isOver = endedAt !== null;
		this.onUpdate({ ...head, devices, isOver }, isOver ? this.#options.now() - Date.parse(endedAt) : 0);
	}
}
