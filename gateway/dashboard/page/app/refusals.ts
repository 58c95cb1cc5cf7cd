/** Recently refused devices and dropped reports, as last read. */

import { ask } from "../../../api/client/request.js";

export interface Refusal {
	readonly id: string;
	readonly what: "connection" | "report";
	readonly deviceId: string | null;
	readonly remoteAddress: string;
	readonly reason: string;
	readonly count: number;
	/** ISO 8601. */
	readonly lastAt: string;
	readonly seen: boolean;
}

export class Refusals {
	readonly #onChanged: () => void;
	#all: readonly Refusal[] = [];

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** The newest first. */
	get all(): readonly Refusal[] {
		return this.#all;
	}

	async refresh(): Promise<void> {
		try {
			const { refusals } = await ask<{ refusals: readonly Refusal[] }>("api/refusals");
			if (JSON.stringify(refusals) === JSON.stringify(this.#all)) return;
			this.#all = refusals;
			this.#onChanged();
		} catch {
			// The connection's state is shown elsewhere, and the list is read again.
		}
	}
}
