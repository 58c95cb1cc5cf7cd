/** What the gateway does to many devices, and each device's answer. It outlives this page: commands, or announcements. */

import { type Counts, Job, type JobKind, type Part } from "../model/job.js";

/** As a list has it. */
interface Head<P extends Part> {
	readonly id: string;
	/** The name of a token; null: none. */
	readonly by: string | null;
	/** ISO 8601, as the other. */
	readonly createdAt: string;
	readonly endedAt: string | null;
	readonly counts: Counts<P>;
}

/** Requests for jobs of one kind. @template B what starts one */
export interface JobRequests<H, P, B> {
	start(body: B): Promise<{ readonly id: string }>;
	/** Without their devices. */
	list(): Promise<readonly H[]>;
	read(id: string): Promise<H & { readonly devices: readonly P[] }>;
	stop(id: string): Promise<unknown>;
}

/** @template H as a list has it @template T what its title is made of */
export interface JobsOptions<P extends Part, T, H, B> {
	readonly requests: JobRequests<H, P, B>;
	readonly kind: JobKind<P["state"]>;
	readonly titleOf: (head: T) => string;
	/** Whether one that has ended is shown, this long ago. */
	readonly isShown: (head: Pick<Head<P>, "by" | "counts">, agoMs: number) => boolean;
	readonly now: () => number;
	readonly onChanged: () => void;
	/** Called once all devices of one have done it: it is not shown any more. */
	readonly onDone?: (title: string, devices: number) => void;
}

/** As a frame reports it, or a list with the devices that have changed since. */
interface JobChange<P extends Part> extends Omit<Head<P>, "endedAt"> {
	readonly devices: readonly P[];
	readonly isOver: boolean;
}

export class Jobs<P extends Part, T, H extends Head<P> & T, B> {
	readonly #options: JobsOptions<P, T, H, B>;
	readonly #jobs = new Map<string, Job<P>>();
	readonly #heads = new Map<string, H>();
	/** Ids: a late message about one does not show it again. */
	readonly #dismissed = new Set<string>();

	constructor(options: JobsOptions<P, T, H, B>) {
		this.#options = options;
	}

	/** The oldest first. */
	get all(): readonly (readonly [id: string, job: Job<P>])[] {
		return [...this.#jobs].sort(([, a], [, b]) => a.createdAt.localeCompare(b.createdAt));
	}

	/** Whether something is done that ends with this page. */
	get needsPage(): boolean {
		return [...this.#jobs.values()].some(({ isOfPage, isRunning }) => isOfPage && isRunning);
	}

	/** As it was read last; undefined: it was not. */
	head(id: string): H | undefined {
		return this.#heads.get(id);
	}

	/** Starts one at the gateway. @throws {Rejection} */
	async start(body: B): Promise<void> {
		const { id } = await this.#options.requests.start(body);
		await this.read(id);
	}

	/** Something is done by this page. */
	add(job: Job<P>): void {
		this.#jobs.set(`here ${this.#jobs.size} ${Date.now()}`, job);
		this.settle();
	}

	/** Removes what has ended from view, also from that of a page that is opened later. */
	dismiss(id: string): void {
		// What the gateway has forgotten needs no more.
		if (!this.#jobs.get(id)?.isOfPage) this.#options.requests.stop(id).catch(() => {});
		this.#jobs.delete(id);
		this.#dismissed.add(id);
		this.#options.onChanged();
	}

	onUpdate(change: JobChange<P> & T, agoMs = 0): void {
		const { id, createdAt, devices, counts, isOver } = change;
		if (this.#dismissed.has(id)) return;
		const { kind, titleOf, isShown } = this.#options;
		const cancel = () => this.#options.requests.stop(id);
		const job = this.#jobs.get(id) ?? new Job<P>({ title: titleOf(change), kind, createdAt, cancel });
		job.take(devices, counts);
		if (isOver && !isShown(change, agoMs)) this.#jobs.delete(id);
		else this.#jobs.set(id, job);
		this.settle();
	}

	/** Some may have ended. */
	settle(): void {
		const { onDone, onChanged } = this.#options;
		if (onDone)
			for (const [id, job] of this.#jobs)
				if (job.count() > 0 && job.count() === job.count("done")) {
					onDone(job.title, job.count());
					this.#jobs.delete(id);
				}
		onChanged();
	}

	/** There is a connection: what has ended meanwhile is not sent again. */
	async onLive(): Promise<void> {
		// What fails is read again with the next connection.
		const heads = await this.#options.requests.list().catch(() => []);
		for (const head of heads) {
			const wasRunning = this.#jobs.get(head.id)?.isRunning;
			this.#update(head, []);
			if (wasRunning) await this.read(head.id);
		}
		const isListed = (id: string) => heads.some((head) => head.id === id);
		for (const [id, job] of this.#jobs)
			if (!job.isOfPage && job.isRunning && !isListed(id))
				job.problem = "The gateway was restarted meanwhile: what the other devices did is not known.";
		this.#options.onChanged();
	}

	/** Reads one with all its devices; what cannot be read stays as it was. */
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
