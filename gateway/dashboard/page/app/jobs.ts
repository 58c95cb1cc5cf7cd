/**
 * What is done to many devices, and each device's answer. The gateway carries out commands, so those outlive this page; tokens,
 * rooms and forgetting need a request for each device, which this page makes, a few at a time.
 */

import { ask, messageOf } from "../../../api/client/request.js";
import type { Ask, SentCommand } from "../../../api/command.js";
import type { FrameOf } from "../../../api/frames.js";
import type { Targets } from "../../../api/targets.js";
import { Job } from "../model/job.js";
import { presetWords } from "../model/presets.js";

export interface Plan {
	/** Such as "New tokens". */
	readonly title: string;
	readonly keys: readonly string[];
	readonly atATime: number;
	/** After the first failure no other device begins. */
	readonly stopsAtFailure?: boolean;
	/** Changes one device. @returns why it was not done; null: it was. An error counts as its message. */
	readonly change: (key: string) => Promise<string | null>;
}

/** Of this tab: commands whose answers a person has not closed, also after the page was loaded again. */
const storageKey = "commands";

export class Jobs {
	readonly #onChanged: () => void;
	readonly #jobs = new Map<string, Job>();
	/** Ids of the commands that were sent here. */
	readonly #own = new Set<string>(JSON.parse(sessionStorage.getItem(storageKey) ?? "[]"));
	#count = 0;

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** The oldest first; those of other people while they run. */
	get all(): readonly (readonly [id: string, job: Job])[] {
		return [...this.#jobs];
	}

	/** Whether something is done that ends with this page. */
	get needsPage(): boolean {
		return [...this.#jobs.values()].some(({ isOfPage, isRunning }) => isOfPage && isRunning);
	}

	/** Has the gateway send a command. @returns why it was refused */
	async send(targets: Targets, payload: Ask): Promise<string | undefined> {
		try {
			const { id } = await ask<{ id: string }>(path(), { method: "POST", body: { targets, payload } });
			this.#keep(id);
			await this.#read(id);
			return undefined;
		} catch (error) {
			return messageOf(error);
		}
	}

	/** Changes devices from this page. */
	run(plan: Plan): void {
		const { title, keys, atATime } = plan;
		const waiting = keys[Symbol.iterator]();
		const cancel = (reason = "Cancelled.") => {
			for (const key of waiting) job.put({ key, state: "cancelled", reason });
			this.#onChanged();
		};
		const job = new Job({ title, cancel: () => cancel(), isOfPage: true });
		for (const key of keys) job.put({ key, state: "waiting", reason: null });
		this.#count += 1;
		this.#jobs.set(`here ${this.#count}`, job);
		const work = async () => {
			for (const key of waiting) {
				job.put({ key, state: "asked", reason: null });
				this.#onChanged();
				const reason = await plan.change(key).catch(messageOf);
				job.put({ key, state: reason === null ? "done" : "failed", reason });
				if (reason !== null && plan.stopsAtFailure) cancel(`${key} did not keep them.`);
				this.#onChanged();
			}
		};
		for (let place = 0; place < atATime; place++) void work();
		this.#onChanged();
	}

	/** Removes what has ended from view. */
	close(id: string): void {
		this.#jobs.delete(id);
		this.#own.delete(id);
		this.#store();
		this.#onChanged();
	}

	onUpdate({ id, payload, devices, counts, isOver }: CommandChange): void {
		const job = this.#jobs.get(id) ?? this.#command(id, payload);
		job.take(
			devices.map(({ deviceId: key, state, reason }) => ({ key, state, reason })),
			counts,
		);
		if (isOver && !this.#own.has(id)) this.#jobs.delete(id);
		this.#onChanged();
	}

	/** There is a connection: what has ended meanwhile is not sent again. */
	onLive(): void {
		for (const id of this.#own) void this.#read(id).catch(() => this.close(id));
	}

	#command(id: string, payload: Ask): Job {
		const cancel = () => void ask(path(id), { method: "DELETE" }).catch(() => {});
		const job = new Job({ title: titleOf(payload), cancel, isOfPage: false });
		this.#jobs.set(id, job);
		return job;
	}

	async #read(id: string): Promise<void> {
		const { endedAt, ...command } = await ask<SentCommand>(path(id));
		this.onUpdate({ ...command, isOver: endedAt !== null });
	}

	#keep(id: string): void {
		this.#own.add(id);
		this.#store();
	}

	#store(): void {
		sessionStorage.setItem(storageKey, JSON.stringify([...this.#own]));
	}
}

type CommandChange = Pick<FrameOf<"command_update">, "id" | "devices" | "counts" | "isOver"> & {
	readonly payload: Ask;
};

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

function path(id?: string): string {
	return id === undefined ? "api/commands" : `api/commands/${encodeURIComponent(id)}`;
}
