/**
 * The gateway's records of the devices that are shown: their last 24 hours, restarts, versions, updates and crashes.
 */

import { ask } from "../../../api/client/request.js";
import type { DeviceDetails, Past } from "../model/responses.js";

export interface KnownPast {
	readonly details: DeviceDetails;
	readonly past: Past;
	/** When it was read, in milliseconds of this page's clock. */
	readonly readAt: number;
}

export class Details {
	readonly #onChanged: (deviceId: string, known: KnownPast) => void;
	readonly #known = new Map<string, KnownPast>();

	constructor(onChanged: (deviceId: string, known: KnownPast) => void) {
		this.#onChanged = onChanged;
	}

	/** Undefined before they were read. */
	of(deviceId: string): KnownPast | undefined {
		return this.#known.get(deviceId);
	}

	/** Reads them; what could not be read stays as it was. */
	async read(deviceId: string): Promise<void> {
		const path = `api/devices/${encodeURIComponent(deviceId)}`;
		try {
			const [details, past] = await Promise.all([ask<DeviceDetails>(path), ask<Past>(`${path}/history`)]);
			const known = { details, past, readAt: Date.now() };
			this.#known.set(deviceId, known);
			this.#onChanged(deviceId, known);
		} catch {
			// The gateway is away; they are read again when it is back.
		}
	}

	/** A device reported a crash. */
	onCrash(deviceId: string): void {
		if (this.#known.has(deviceId)) void this.read(deviceId);
	}
}
