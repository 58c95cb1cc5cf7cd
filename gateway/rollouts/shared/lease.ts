/**
 * The lease by which at most one of several gateways drives the rollouts: a key that expires unless it is renewed. It
 * prevents two drivers that are both connected; one that slept through the loss of its lease is stopped by the
 * compare and set of what it writes.
 */

import type { Bucket, BucketOptions } from "../../bus.js";

export interface LeaseOptions {
	/** Opened with `leaseBucket`. */
	readonly bucket: Bucket;
	/** Unique to this run of the gateway. */
	readonly holder: string;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** Called when it was taken, and when it is known to be lost. */
	readonly onChange: (isHeld: boolean) => void;
}

/** Longer than `validMs`: the server's clock and this one may run at a different rate. */
export const leaseBucket: BucketOptions = Object.freeze({ ttlMs: 10_000 });
const intervalMs = 3_000;
const validMs = 6_000;
const key = "driver";

export class Lease {
	readonly #options: LeaseOptions;
	/** Of the key while it is ours. */
	#revision: number | undefined;
	/** On the monotonic clock: before the latest renewal that succeeded was sent. */
	#renewedAt = Number.NEGATIVE_INFINITY;
	#renewing: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: LeaseOptions) {
		this.#options = options;
	}

	/** Tries to take it every 3 s, then renews it. */
	open(): void {
		this.#timer = setInterval(() => void this.renew(), intervalMs).unref();
		void this.renew();
	}

	/** By the clock, so it is false as soon as a process that was stopped goes on. */
	get isHeld(): boolean {
		return this.#revision !== undefined && this.#options.monotonic() - this.#renewedAt < validMs;
	}

	/** Takes or renews it. To be called by tests only, as by the timer. */
	renew(): Promise<void> {
		this.#renewing ??= this.#renew().finally(() => {
			this.#renewing = undefined;
		});
		return this.#renewing;
	}

	/** To be called when a write shows that another gateway drives. */
	stepDown(): void {
		if (this.#revision === undefined) return;
		this.#revision = undefined;
		this.#options.onChange(false);
	}

	/** Gives it back, so that another gateway need not wait until it expires. */
	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#renewing;
		const revision = this.#revision;
		this.stepDown();
		if (revision !== undefined) await this.#options.bucket.remove(key, revision).catch(() => {});
	}

	async #renew(): Promise<void> {
		const { bucket, holder, monotonic, onChange } = this.#options;
		if (!this.isHeld) this.stepDown();
		const before = this.#revision;
		const at = monotonic();
		try {
			const entry = before === undefined ? await bucket.get(key) : undefined;
			// One that is ours was written by a renewal whose answer was lost.
			if (entry && entry.text !== holder) return;
			const revision = await bucket.set(key, holder, before ?? entry?.revision ?? 0);
			if (revision === undefined) return this.stepDown();
			// Lost while it was being renewed.
			if (before !== this.#revision) return;
			this.#revision = revision;
			this.#renewedAt = at;
			if (before === undefined) onChange(true);
		} catch {
			// It may be renewed or not: `isHeld` ends by the clock.
		}
	}
}
