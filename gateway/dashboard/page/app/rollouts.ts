/** Carries a roll-out through: asks the gateway for the next devices, and tells model/rollout.ts what came of it. */

import type { Answer } from "../model/attempts.js";
import type { OtaMetadata } from "../model/messages.js";
import {
	asked,
	begun,
	cancel,
	heard,
	isOver,
	nextKeys,
	planRollout,
	type Rollout,
	type RolloutPlan,
	refused,
	unanswered,
} from "../model/rollout.js";

export interface RolloutsOptions {
	/** Asks for a device's update; the promise never fails. */
	readonly trigger: (key: string, selector: string) => Promise<Answer>;
	readonly metadataOf: (key: string) => OtaMetadata | undefined;
	readonly onChanged: () => void;
}

export class Rollouts {
	readonly #options: RolloutsOptions;
	#current: Rollout | undefined;
	/** Devices whose request got no answer, since the connection was lost. */
	readonly #unanswered = new Set<string>();

	constructor(options: RolloutsOptions) {
		this.#options = options;
	}

	/** The one that runs, or ran last; undefined before the first. */
	get current(): Rollout | undefined {
		return this.#current;
	}

	get isRunning(): boolean {
		return this.#current !== undefined && !isOver(this.#current);
	}

	/** Begins one; only where none is running. */
	start(plan: RolloutPlan): void {
		if (this.isRunning) return;
		this.#unanswered.clear();
		this.#set(planRollout(plan));
		this.#askNext();
	}

	/** Calls off what has not begun. */
	cancel(): void {
		if (this.#current) this.#set(cancel(this.#current));
	}

	/** A device's update stands differently, perhaps. */
	onDevice(key: string): void {
		if (!this.#current) return;
		this.#set(heard(this.#current, key, this.#options.metadataOf(key)));
		this.#askNext();
	}

	/** A new snapshot is complete: it decides what was requested when the connection was lost, and which devices were forgotten. */
	onSnapshot(): void {
		for (const key of this.#unanswered)
			if (this.#current) this.#set(unanswered(this.#current, key, this.#options.metadataOf(key)));
		this.#unanswered.clear();
		for (const { key } of this.#current?.items ?? []) this.onDevice(key);
		this.#askNext();
	}

	#askNext(): void {
		if (!this.#current || this.#unanswered.size > 0) return;
		for (const key of nextKeys(this.#current)) {
			this.#set(asked(this.#current, key));
			void this.#ask(key, this.#current);
		}
	}

	async #ask(key: string, { selector }: Rollout): Promise<void> {
		const answer = await this.#options.trigger(key, selector);
		if (!this.#current) return;
		if (!answer.isTaken && answer.code === "lost") {
			this.#unanswered.add(key);
			return;
		}
		this.#set(answer.isTaken ? begun(this.#current, key) : refused(this.#current, key, answer.message));
		this.onDevice(key);
		this.#askNext();
	}

	#set(rollout: Rollout): void {
		if (rollout === this.#current) return;
		this.#current = rollout;
		this.#options.onChanged();
	}
}
