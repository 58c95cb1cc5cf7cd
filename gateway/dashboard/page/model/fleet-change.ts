/** One change of many devices, a few at a time. */

import type { SettingsChange } from "./settings-changes.js";

export interface FleetItem {
	readonly key: string;
	readonly status: "waiting" | "running" | "kept" | "failed" | "not_begun";
	/** Why it is not kept; null otherwise. */
	readonly reason: string | null;
}

export interface FleetChangeOptions {
	readonly onChanged: () => void;
}

export interface FleetPlan {
	/** Such as "Replacing tokens". */
	readonly title: string;
	readonly keys: readonly string[];
	readonly atATime: number;
	/** After the first failure no other device begins. */
	readonly stopsAtFailure: boolean;
	/** Changes one device; the promise never fails. */
	readonly change: (key: string) => Promise<SettingsChange>;
}

export class FleetChange {
	readonly #options: FleetChangeOptions;
	#title = "";
	#items: readonly FleetItem[] = [];

	constructor(options: FleetChangeOptions) {
		this.#options = options;
	}

	get title(): string {
		return this.#title;
	}

	/** Empty before the first one. */
	get items(): readonly FleetItem[] {
		return this.#items;
	}

	get isRunning(): boolean {
		return this.#items.some(({ status }) => status === "waiting" || status === "running");
	}

	/** Begins one; only where none is running. */
	start(plan: FleetPlan): void {
		if (this.isRunning) return;
		const { title, keys, atATime } = plan;
		this.#title = title;
		this.#set(keys.map((key) => ({ key, status: "waiting", reason: null })));
		for (let place = 0; place < atATime; place++) void this.#work(plan);
	}

	/** Removes what has ended from view. */
	clear(): void {
		if (!this.isRunning) this.#set([]);
	}

	/** Devices that are or will be changed, in this order. */
	get comingKeys(): readonly string[] {
		const coming = this.#items.filter(({ status }) => status === "running" || status === "waiting");
		return coming.map(({ key }) => key);
	}

	/** Calls off what has not begun. */
	cancel(reason = "Cancelled."): void {
		this.#set(
			this.#items.map((item) =>
				item.status === "waiting" ? { ...item, status: "not_begun", reason } : item,
			),
		);
	}

	async #work({ change, stopsAtFailure }: FleetPlan): Promise<void> {
		for (;;) {
			const next = this.#items.find(({ status }) => status === "waiting");
			if (!next) return;
			const { key } = next;
			this.#put({ key, status: "running", reason: null });
			const { status, reason } = await change(key);
			this.#put({ key, status: status === "kept" ? "kept" : "failed", reason });
			if (status !== "kept" && stopsAtFailure) this.cancel(`${key} did not keep them.`);
		}
	}

	#put(item: FleetItem): void {
		this.#set(this.#items.map((one) => (one.key === item.key ? item : one)));
	}

	#set(items: readonly FleetItem[]): void {
		this.#items = items;
		this.#options.onChanged();
	}
}
