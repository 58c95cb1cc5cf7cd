/** Rollouts of the gateway, and requests that change them. */

import type {
	Preview,
	Rollout,
	RolloutAction,
	RolloutDevice,
	RolloutHead,
	RolloutUpdate,
} from "../../../api/client/rollout.js";
import type { RequestedPlan } from "../../../api/client/rollout-plan.js";
import { isOver } from "../../../api/statuses.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

export interface LoadedRollout extends Rollout {
	/** Time of the gateway's clock, in ms. */
	readonly loadedAt: number;
}

export class Rollouts {
	readonly #onChanged: () => void;
	readonly #now: () => number;
	readonly #list: Resource<{ readonly rollouts: readonly RolloutHead[] }>;
	readonly #details = new Map<string, Resource<LoadedRollout>>();

	constructor(onChanged: () => void, now: () => number) {
		this.#onChanged = onChanged;
		this.#now = now;
		this.#list = new Resource(() => request("GET /api/rollouts"), onChanged);
	}

	/** All rollouts, the newest first. */
	get all(): readonly RolloutHead[] {
		return this.#list.value?.rollouts ?? [];
	}

	/** Rollout of a version that is not over. A standing one may target other devices, and never ends. */
	active(version: string): RolloutHead | undefined {
		return this.all.find((head) => head.version === version && !head.standing && !isOver(head));
	}

	get isLoaded(): boolean {
		return this.#list.value !== undefined;
	}

	/** Rollout with plan and groups; undefined until loaded by `load`. */
	get(id: string): LoadedRollout | undefined {
		return this.#details.get(id)?.value;
	}

	/** Reloads the list and the loaded details; keeps the known state on failure. */
	async refresh(): Promise<void> {
		for (const details of this.#details.values()) void details.refresh();
		await this.#list.refresh();
	}

	/** Loads one rollout with its plan and groups. */
	async load(id: string): Promise<void> {
		const details =
			this.#details.get(id) ??
			new Resource(
				async () => ({
					...(await request("GET /api/rollouts/:id", { params: { id } })),
					loadedAt: this.#now(),
				}),
				this.#onChanged,
			);
		this.#details.set(id, details);
		await details.refresh();
	}

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
		// A pending list may be older than this update.
		if (isOver(next) !== isOver(head) || this.#list.isReading) void this.refresh();
		else if (this.#details.has(id)) void this.load(id);
	}

	/** Returns the devices that a plan would update. @throws Rejection that names an invalid field */
	preview(plan: RequestedPlan): Promise<Preview> {
		return request("POST /api/rollouts/preview", { body: plan });
	}

	/** Starts a rollout; idempotent for the same id and plan. @throws Rejection */
	start(id: string, plan: RequestedPlan): Promise<void> {
		return this.#change(() => request("PUT /api/rollouts/:id", { params: { id }, body: plan }));
	}

	/** @throws Rejection */
	act({ id, revision }: RolloutHead, action: RolloutAction): Promise<void> {
		return this.#change(async () => {
			const params = { id };
			const next = await request(`POST /api/rollouts/:id/${action}`, { params, revision });
			// A rollout paused by failures would only queue the retried devices.
			if (action === "retry" && next.pausedBecause === "failures")
				await request("POST /api/rollouts/:id/resume", { params, revision: next.revision });
		});
	}

	/** @throws Rejection */
	remove({ id }: RolloutHead): Promise<void> {
		return this.#change(async () => {
			await request("DELETE /api/rollouts/:id", { params: { id } });
			// The reply may arrive before the update of `onUpdate`.
			this.#details.delete(id);
		});
	}

	/** @throws Rejection */
	async devices(id: string, statuses: readonly string[]): Promise<readonly RolloutDevice[]> {
		const query = { status: statuses.join(",") };
		return (await request("GET /api/rollouts/:id/devices", { params: { id }, query })).devices;
	}

	async #change(request: () => Promise<unknown>): Promise<void> {
		await request().finally(() => this.refresh());
	}
}
