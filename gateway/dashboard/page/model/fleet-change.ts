/** One change of the settings of many devices, a few at a time. After the first failure no other device begins. */

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
	start({ title, keys, atATime, change }: FleetPlan): void {
		if (this.isRunning) return;
		this.#title = title;
		this.#set(keys.map((key) => ({ key, status: "waiting", reason: null })));
		for (let place = 0; place < atATime; place++) void this.#work(change);
	}

	/** Calls off what has not begun. */
	cancel(reason = "Cancelled."): void {
		this.#set(
			this.#items.map((item) =>
				item.status === "waiting" ? { ...item, status: "not_begun", reason } : item,
			),
		);
	}

	async #work(change: FleetPlan["change"]): Promise<void> {
		for (;;) {
			const next = this.#items.find(({ status }) => status === "waiting");
			if (!next) return;
			const { key } = next;
			this.#put({ key, status: "running", reason: null });
			const { status, reason } = await change(key);
			this.#put({ key, status: status === "kept" ? "kept" : "failed", reason });
			if (status !== "kept") this.cancel(`${key} did not keep them.`);
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
