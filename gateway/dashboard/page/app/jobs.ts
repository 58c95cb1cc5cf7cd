/** What the gateway does to many devices, and each device's answer. It outlives this page: commands, or announcements. */

import { ask, Refusal } from "../../../api/client/request.js";
import type { Ask, SentCommand } from "../../../api/command.js";
import { Job, type JobKind, type Part } from "../model/job.js";
import { presetWords } from "../model/presets.js";

/** @template H what its title is made of */
export interface JobsOptions<P extends Part, H> {
	/** The last part of the path. */
	readonly channel: "commands" | "announcements";
	readonly kind: JobKind<P["state"]>;
	readonly titleOf: (head: H) => string;
	/** @param by the name of a token. @returns whether it is this person's */
	readonly isOwn: (by: string | null) => boolean;
	readonly now: () => number;
	readonly onChanged: () => void;
	/** Called once all devices of an own one have done it: it is not shown any more. */
	readonly onDone?: (title: string, devices: number) => void;
}

/** As a frame reports it. */
interface JobChange<P extends Part> {
	readonly id: string;
	readonly by: string | null;
	readonly devices: readonly P[];
	readonly counts: Readonly<Record<P["state"], number>>;
	readonly isOver: boolean;
}

type ListedCommand = Omit<SentCommand, "devices">;

/** How long after their end they are shown: those that some device has not done, and the others. */
const failedShownMs = 60 * 60_000;
const doneShownMs = 60_000;

export class Jobs<P extends Part, H> {
	readonly #options: JobsOptions<P, H>;
	readonly #jobs = new Map<string, Job<P>>();

	constructor(options: JobsOptions<P, H>) {
		this.#options = options;
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
	async begin(body: object): Promise<string> {
		const { id } = await ask<{ id: string }>(this.#path(), { method: "POST", body });
		await this.#read(id);
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
		this.#options.onChanged();
	}

	/** As `close`, also from the view of a page that is opened later. */
	dismiss(id: string): void {
		// What the gateway has forgotten needs no more.
		if (!this.#jobs.get(id)?.isOfPage) ask(this.#path(id), { method: "DELETE" }).catch(() => {});
		this.close(id);
	}

	onUpdate(change: JobChange<P> & H): void {
		const { id, by, devices, counts, isOver } = change;
		const { kind, titleOf, isOwn } = this.#options;
		const cancel = () => ask(this.#path(id), { method: "DELETE" });
		const job = this.#jobs.get(id) ?? new Job<P>({ title: titleOf(change), kind, cancel });
		job.take(devices, counts);
		if (isOver && !isOwn(by)) this.#jobs.delete(id);
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
	async onLive(): Promise<void> {
		const shown = [...this.#jobs].flatMap(([id, { isOfPage }]) => (isOfPage ? [] : id));
		// What fails otherwise is read again with the next connection.
		for (const id of new Set([...shown, ...(await this.#endedLately().catch(() => []))]))
			this.#read(id).catch((error) => {
				if (error instanceof Refusal && error.status === 404) this.#onGone(id);
			});
	}

	/** Ids of own commands of which a page that is opened after their end says how it was. */
	async #endedLately(): Promise<readonly string[]> {
		const { channel, isOwn, now } = this.#options;
		if (channel !== "commands") return [];
		const { commands } = await ask<{ commands: readonly ListedCommand[] }>(this.#path());
		const isShown = ({ by, endedAt, counts: { done, ...others } }: ListedCommand) => {
			const shownMs = Object.values(others).some((count) => count > 0) ? failedShownMs : doneShownMs;
			return endedAt !== null && isOwn(by) && now() - Date.parse(endedAt) < shownMs;
		};
		return commands.filter(isShown).map(({ id }) => id);
	}

	/** The gateway does not know it: it was restarted, or has forgotten what ended long ago. */
	#onGone(id: string): void {
		const job = this.#jobs.get(id);
		if (job?.isRunning)
			job.problem = "The gateway was restarted meanwhile: what the other devices did is not known.";
		this.#options.onChanged();
	}

	async #read(id: string): Promise<void> {
		const job = await ask<Omit<JobChange<P>, "isOver"> & H & { endedAt: string | null }>(this.#path(id));
		this.onUpdate({ ...job, isOver: job.endedAt !== null });
	}

	#path(id?: string): string {
		const path = `api/${this.#options.channel}`;
		return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
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
