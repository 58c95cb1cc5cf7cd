/** Rollouts of the gateway. */

import type { RolloutHead, RolloutUpdate } from "../../../api/client/rollout.js";
import { isOver } from "../../../api/statuses.js";
import { request } from "./gateway.js";
import { Resource } from "./resource.js";

export class Rollouts extends Resource<{ readonly rollouts: readonly RolloutHead[] }> {
	constructor(onChanged: () => void) {
		super(() => request("GET /api/rollouts"), onChanged);
	}

	/** All rollouts, the newest first. */
	get all(): readonly RolloutHead[] {
		return this.value?.rollouts ?? [];
	}

	/** Rollout of a version that is not over. A standing one may target other devices, and never ends. */
	active(version: string): RolloutHead | undefined {
		return this.all.find((head) => head.version === version && !head.standing && !isOver(head));
	}

	onUpdate({ type: _, status, ...change }: RolloutUpdate): void {
		const head = this.all.find(({ id }) => id === change.id);
		if (!head) return void this.refresh();
		if (status === "deleted") {
			this.value = { rollouts: this.all.filter((known) => known !== head) };
			return;
		}
		const next = { ...head, ...change, status };
		this.value = { rollouts: this.all.map((known) => (known === head ? next : known)) };
		// A pending list may be older than this update.
		if (isOver(next) !== isOver(head) || this.isReading) void this.refresh();
	}
}
