/** Rollouts of the gateway. */

import type { Rollout, RolloutHead, RolloutUpdate } from "../../../api/client/rollout.js";
import { isOver } from "../../../api/statuses.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

export interface LoadedRollout extends Rollout {
	/** Time of the gateway's clock, in ms. */
	readonly loadedAt: number;
}

export class Rollouts extends Resource<{ readonly rollouts: readonly RolloutHead[] }> {
	readonly #onChanged: () => void;
	readonly #now: () => number;
	readonly #details = new Map<string, Resource<LoadedRollout>>();

	constructor(onChanged: () => void, now: () => number) {
		super(() => request("GET /api/rollouts"), onChanged);
		this.#onChanged = onChanged;
		this.#now = now;
	}

	/** All rollouts, the newest first. */
	get all(): readonly RolloutHead[] {
		return this.value?.rollouts ?? [];
	}

	/** Rollout of a version that is not over. A standing one may target other devices, and never ends. */
	active(version: string): RolloutHead | undefined {
		return this.all.find((head) => head.version === version && !head.standing && !isOver(head));
	}

	/** Rollout with plan and groups; undefined until loaded by `load`. */
	get(id: string): LoadedRollout | undefined {
		return this.#details.get(id)?.value;
	}

	/** Reloads the list and the loaded details; keeps the known state on failure. */
	override refresh(): Promise<void> {
		for (const details of this.#details.values()) void details.refresh();
		return super.refresh();
	}

	/** Reloads after a change, also after a failed one. @throws the error of the change */
	override async after(change: Promise<unknown>): Promise<void> {
		await change.finally(() => this.refresh());
	}

	/** Loads one rollout with its plan and groups. */
	async load(id: string): Promise<void> {
		const read = async () => ({
			...(await request("GET /api/rollouts/:id", { params: { id } })),
			loadedAt: this.#now(),
		});
		const details = this.#details.get(id) ?? new Resource(read, this.#onChanged);
		this.#details.set(id, details);
		await details.refresh();
	}

	onUpdate({ type: _, status, ...change }: RolloutUpdate): void {
		const { id } = change;
		const head = this.all.find((known) => known.id === id);
		if (!head) return void this.refresh();
		if (status === "deleted") {
			this.#details.delete(id);
			this.value = { rollouts: this.all.filter((known) => known !== head) };
			return;
		}
		const next = { ...head, ...change, status };
		this.value = { rollouts: this.all.map((known) => (known === head ? next : known)) };
		// A pending list may be older than this update.
		if (isOver(next) !== isOver(head) || this.isReading) void this.refresh();
		else if (this.#details.has(id)) void this.load(id);
	}
}
