/** The gateway's roll-outs, as last received, and the requests of a person to them. */

import { ask } from "../../../api/client/request.js";
import type {
	Preview,
	Rollout,
	RolloutAction,
	RolloutDevice,
	RolloutHead,
	RolloutUpdate,
} from "../../../api/client/rollout.js";
import type { AskedPlan } from "../../../api/client/rollout-plan.js";
import { isOver } from "../../../api/statuses.js";
import { Resource } from "./resource.js";

/** As it was read, and when by the gateway's clock. */
export interface ReadRollout extends Rollout {
	readonly readAt: number;
}

export class Rollouts {
	readonly #onChanged: () => void;
	readonly #now: () => number;
	readonly #list: Resource<{ readonly rollouts: readonly RolloutHead[] }>;
	readonly #details = new Map<string, Resource<ReadRollout>>();

	constructor(onChanged: () => void, now: () => number) {
		this.#onChanged = onChanged;
		this.#now = now;
		this.#list = new Resource(() => ask(listPath), onChanged);
	}

	/** The newest first. */
	get all(): readonly RolloutHead[] {
		return this.#list.value?.rollouts ?? [];
	}

	/** With plan and groups; undefined until `read` has read it. */
	get(id: string): ReadRollout | undefined {
		return this.#details.get(id)?.value;
	}

	/** Reads the list again, and the details that are shown. What cannot be read stays as it was. */
	async refresh(): Promise<void> {
		for (const details of this.#details.values()) void details.refresh();
		await this.#list.refresh();
	}

	/** Reads one with its plan and groups. */
	async read(id: string): Promise<void> {
		const details =
			this.#details.get(id) ??
			new Resource(
				async () => ({ ...(await ask<Rollout>(pathOf(id))), readAt: this.#now() }),
				this.#onChanged,
			);
		this.#details.set(id, details);
		await details.refresh();
	}

	/** A roll-out has changed. */
	onUpdate({ type: _, status, ...change }: RolloutUpdate): void {
		const { id } = change;
		const head = this.all.find((one) => one.id === id);
		if (!head) return void this.refresh();
		if (status === "deleted") {
			this.#details.delete(id);
			this.#list.value = { rollouts: this.all.filter((one) => one !== head) };
			return;
		}
		const next = { ...head, ...change, status };
		this.#list.value = { rollouts: this.all.map((one) => (one === head ? next : one)) };
		// A list that is on its way may be older than this.
		if (isOver(next) !== isOver(head) || this.#list.isReading) void this.refresh();
		else if (this.#details.has(id)) void this.read(id);
	}

	/** Which devices a plan would update. @throws Refusal that names a wrong field */
	preview(plan: AskedPlan): Promise<Preview> {
		return ask(`${listPath}/preview`, { method: "POST", body: plan });
	}

	/** Repeated with the same id and plan, it changes nothing. @throws Error that says why it was refused */
	start(id: string, plan: AskedPlan): Promise<void> {
		return this.#change(() => ask(pathOf(id), { method: "PUT", body: plan }));
	}

	/** @throws Error that says why it was refused */
	act({ id, revision }: RolloutHead, action: RolloutAction): Promise<void> {
		return this.#change(async () => {
			const path = (name: RolloutAction) => `${pathOf(id)}/${name}`;
			const next = await ask<Rollout>(path(action), { method: "POST", revision });
			// Retried devices would only be queued where failures have stopped it.
			if (action === "retry" && next.pausedBecause === "failures")
				await ask(path("resume"), { method: "POST", revision: next.revision });
		});
	}

	/** @throws Error that says why it was refused */
	remove({ id }: RolloutHead): Promise<void> {
		return this.#change(() => ask(pathOf(id), { method: "DELETE" }));
	}

	/** @throws Refusal */
	async devices(id: string, statuses: readonly string[]): Promise<readonly RolloutDevice[]> {
		const path = `${pathOf(id)}/devices?status=${statuses.join(",")}`;
		return (await ask<{ devices: readonly RolloutDevice[] }>(path)).devices;
	}

	async #change(request: () => Promise<unknown>): Promise<void> {
		await request().finally(() => this.refresh());
	}
}

const listPath = "api/rollouts";

function pathOf(id: string): string {
	return `${listPath}/${encodeURIComponent(id)}`;
}
