/** What the gateway does to many devices, and each device's answer. It outlives this page: commands, or announcements. */

import { ask, Refusal } from "../../../api/client/request.js";
import type { Ask, CommandPart } from "../../../api/command.js";
import { Job, type JobKind, type Part } from "../model/job.js";
import { presetWords } from "../model/presets.js";

export interface JobsOptions<P extends Part> {
	/** The last part of the path. */
	readonly channel: "commands" | "announcements";
	readonly kind: JobKind<P["state"]>;
	readonly onChanged: () => void;
	/** Called once all devices of one that was begun in this tab have done it: it is not shown any more. */
	readonly onDone?: (title: string, devices: number) => void;
}

/** As a frame reports it. */
interface JobChange<P extends Part> {
	readonly id: string;
	readonly devices: readonly P[];
	readonly counts: Readonly<Record<P["state"], number>>;
	readonly isOver: boolean;
}

export class Jobs<P extends Part = CommandPart> {
	readonly #options: JobsOptions<P>;
	readonly #jobs = new Map<string, Job<P>>();
	/** Titles of those that were begun in this tab, by id, until a person closes them, also after the page was loaded again. */
	readonly #own: Map<string, string>;

	constructor(options: JobsOptions<P>) {
		this.#options = options;
		this.#own = new Map(JSON.parse(sessionStorage.getItem(this.#storageKey) ?? "[]"));
	}

	/** The oldest first; those of other people while they run. */
	get all(): readonly (readonly [id: string, job: Job<P>])[] {
		return [...this.#jobs];
	}

	/** Whether something is done that ends with this page. */
	get needsPage(): boolean {
		return [...this.#jobs.values()].some(({ isOfPage, isRunning }) => isOfPage && isRunning);
	}

	get(id: string): Job<P> | undefined {
		return this.#jobs.get(id);
	}

	/** Has the gateway begin one. @returns its id @throws Refusal */
	async begin(body: object, title: string): Promise<string> {
		const { id } = await ask<{ id: string }>(this.#path(), { method: "POST", body });
		this.#own.set(id, title);
		this.#store();
		await this.#read(id, title);
		return id;
	}

	/** Something is done by this page. */
	add(job: Job<P>): void {
		this.#jobs.set(`here ${this.#jobs.size} ${Date.now()}`, job);
		this.settle();
	}

	/** Removes what has ended from view. */
	close(id: string): void {
		this.#jobs.delete(id);
		this.#own.delete(id);
		this.#store();
		this.#options.onChanged();
	}

	/** @param title of one that was begun elsewhere */
	onUpdate({ id, devices, counts, isOver }: JobChange<P>, title: string): void {
		const cancel = () => ask(this.#path(id), { method: "DELETE" });
		const job = this.#jobs.get(id) ?? new Job<P>({ title, kind: this.#options.kind, cancel });
		job.title = this.#own.get(id) ?? title;
		job.take(devices, counts);
		if (isOver && !this.#own.has(id)) this.#jobs.delete(id);
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
					this.close(id);
				}
		onChanged();
	}

	/** There is a connection: what has ended meanwhile is not sent again. */
	onLive(): void {
		// What fails otherwise is read again with the next connection.
		for (const [id, title] of this.#own)
			void this.#read(id, title).catch((error) => {
				if (error instanceof Refusal && error.status === 404) this.#onGone(id);
			});
	}

	/** Those of others that still run come again with the connection. */
	onLost(): void {
		for (const [id, { isOfPage }] of this.#jobs) if (!isOfPage && !this.#own.has(id)) this.#jobs.delete(id);
		this.#options.onChanged();
	}

	/** The gateway does not know it: it was restarted, or has forgotten what ended long ago. */
	#onGone(id: string): void {
		const job = this.#jobs.get(id);
		if (!job) return this.close(id);
		if (job.isRunning)
			job.problem = "The gateway was restarted meanwhile: what the other devices did is not known.";
		this.#options.onChanged();
	}

	async #read(id: string, title: string): Promise<void> {
		const path = this.#path(id);
		const { endedAt, ...job } = await ask<JobChange<P> & { readonly endedAt: string | null }>(path);
		this.onUpdate({ ...job, isOver: endedAt !== null }, title);
	}

	#path(id?: string): string {
		const path = `api/${this.#options.channel}`;
		return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
	}

	get #storageKey(): string {
		return `own ${this.#options.channel}`;
	}

	#store(): void {
		sessionStorage.setItem(this.#storageKey, JSON.stringify([...this.#own]));
	}
}

/** "Volume 40" */
export function titleOf(payload: Ask): string {
	switch (payload.command) {
		case "set_volume":
			return payload.value === 0 ? "Mute" : `Volume ${payload.value}`;
		case "set_led":
			return `Ring: ${presetWords.find(([one]) => one === payload.value)?.[1] ?? payload.value}`;
		case "boot_device":
			return "Reconnect";
		default: {
			const words = payload.command.replaceAll("_", " ");
			return words.charAt(0).toUpperCase() + words.slice(1);
		}
	}
}
