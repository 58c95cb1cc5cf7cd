/** The gateway's roll-outs, as last received, and the requests of a person to them. */

import { ask, messageOf, Refusal } from "../../../api/client/request.js";
import {
	type Preview,
	problems,
	type Rollout,
	type RolloutAction,
	type RolloutDevice,
	type RolloutHead,
	type RolloutUpdate,
} from "../../../api/client/rollout.js";
import type { AskedPlan } from "../../../api/client/rollout-plan.js";
import { isOver } from "../../../api/statuses.js";

/** As it was read, and when by this page's clock. */
export interface ReadRollout extends Rollout {
	readonly readAt: number;
}

export class Rollouts {
	readonly #onChanged: () => void;
	#heads: readonly RolloutHead[] = [];
	readonly #details = new Map<string, ReadRollout>();
	/** Paths that are being read, and whether something has changed meanwhile. */
	readonly #reading = new Map<string, boolean>();

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** The newest first. */
	get all(): readonly RolloutHead[] {
		return this.#heads;
	}

	/** With plan and groups; undefined until `read` has read it. */
	get(id: string): ReadRollout | undefined {
		return this.#details.get(id);
	}

	/** Reads the list again, and the details that are shown. What cannot be read stays as it was. */
	async refresh(): Promise<void> {
		for (const id of this.#details.keys()) void this.read(id);
		await this.#read<{ rollouts: readonly RolloutHead[] }>(listPath, ({ rollouts }) => {
			this.#heads = rollouts;
		});
	}

	/** Reads one with its plan and groups. */
	async read(id: string): Promise<void> {
		await this.#read<Rollout>(pathOf(id), (rollout) =>
			this.#details.set(id, { ...rollout, readAt: Date.now() }),
		);
	}

	/** A roll-out has changed. */
	onUpdate({ type: _, status, ...change }: RolloutUpdate): void {
		const { id } = change;
		const head = this.#heads.find((one) => one.id === id);
		if (!head) return void this.refresh();
		if (status === "deleted") {
			this.#details.delete(id);
			this.#heads = this.#heads.filter((one) => one !== head);
		} else {
			const next = { ...head, ...change, status };
			this.#heads = this.#heads.map((one) => (one === head ? next : one));
			// A list that is on its way may be older than this.
			if (isOver(next) !== isOver(head) || this.#reading.has(listPath)) void this.refresh();
			else if (this.#details.has(id)) void this.read(id);
		}
		this.#onChanged();
	}

	/** Which devices a plan would update. @throws Refusal that names a wrong field */
	preview(plan: AskedPlan): Promise<Preview> {
		return ask(`${listPath}/preview`, { method: "POST", body: plan });
	}

	/** Repeated with the same id and plan, it changes nothing. @returns why it was refused */
	start(id: string, plan: AskedPlan): Promise<string | undefined> {
		return this.#change(() => ask(pathOf(id), { method: "PUT", body: plan }));
	}

	/** @returns why it was refused */
	act({ id, revision }: RolloutHead, action: RolloutAction): Promise<string | undefined> {
		return this.#change(async () => {
			const path = (name: RolloutAction) => `${pathOf(id)}/${name}`;
			const next = await ask<Rollout>(path(action), { method: "POST", revision });
			// Retried devices would only be queued where failures have stopped it.
			if (action === "retry" && next.pausedBecause === "failures")
				await ask(path("resume"), { method: "POST", revision: next.revision });
		});
	}

	/** @returns why it was refused */
	remove({ id }: RolloutHead): Promise<string | undefined> {
		return this.#change(() => ask(pathOf(id), { method: "DELETE" }));
	}

	/** @throws Refusal */
	async devices(id: string, statuses: readonly string[] = problems): Promise<readonly RolloutDevice[]> {
		const path = `${pathOf(id)}/devices?status=${statuses.join(",")}`;
		return (await ask<{ devices: readonly RolloutDevice[] }>(path)).devices;
	}

	/** At most one request per path runs; further calls repeat it once. */
	async #read<T>(path: string, take: (answer: T) => void): Promise<void> {
		if (this.#reading.has(path)) return void this.#reading.set(path, true);
		do {
			this.#reading.set(path, false);
			try {
				take(await ask<T>(path));
			} catch {
				// The gateway is away, or it was deleted: the next snapshot or message says so.
			}
			this.#onChanged();
		} while (this.#reading.get(path));
		this.#reading.delete(path);
	}

	async #change(request: () => Promise<unknown>): Promise<string | undefined> {
		try {
			await request();
			return undefined;
		} catch (error) {
			if (error instanceof Refusal && error.status === 412)
				return "It has changed at the same moment, perhaps by another person. Look again.";
			return messageOf(error);
		} finally {
			await this.refresh();
		}
	}
}

const listPath = "api/rollouts";

function pathOf(id: string): string {
	return `${listPath}/${encodeURIComponent(id)}`;
}
