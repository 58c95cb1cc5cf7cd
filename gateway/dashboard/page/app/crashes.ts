/** The crashes of the devices that someone looks at, as the gateway keeps them. */

import type { PastCrash } from "../model/messages.js";

export class Crashes {
	readonly #onChanged: (deviceId: string) => void;
	/** The latest first. */
	readonly #lists = new Map<string, readonly PastCrash[]>();

	constructor(onChanged: (deviceId: string) => void) {
		this.#onChanged = onChanged;
	}

	/** Undefined before they were read. */
	of(deviceId: string): readonly PastCrash[] | undefined {
		return this.#lists.get(deviceId);
	}

	/** Reads them; what could not be read stays as it was. */
	async read(deviceId: string): Promise<void> {
		try {
			const response = await fetch(`api/devices/${encodeURIComponent(deviceId)}`);
			if (!response.ok) return;
			const { crashes }: { readonly crashes: readonly PastCrash[] } = await response.json();
			this.#lists.set(deviceId, [...crashes].reverse());
			this.#onChanged(deviceId);
		} catch {
			// The gateway is away; they are read again when it is back.
		}
	}

	/** A device told of a crash. */
	onCrash(deviceId: string): void {
		if (this.#lists.has(deviceId)) void this.read(deviceId);
	}
}
