/**
 * Lease that lets at most one gateway drive the rollouts: a key that expires unless it is renewed. It
 * excludes two connected drivers; one that was suspended past the end of its lease is stopped by
 * compare-and-set on its writes.
 */

import type { Bucket, BucketOptions } from "../../bus.js";

export interface LeaseOptions {
	/** Bucket opened with `leaseBucket`. */
	readonly bucket: Bucket;
	/** Unique per run of the gateway. */
	readonly holder: string;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** Called when the lease is acquired, and when it is known to be lost. */
	readonly onChange: (isHeld: boolean) => void;
}

/** Longer than `validMs`, as clock rates of server and gateway may differ. */
export const leaseBucket: BucketOptions = Object.freeze({ ttlMs: 10_000 });
const intervalMs = 3_000;
const validMs = 6_000;
const key = "driver";

export class Lease {
	readonly #options: LeaseOptions;
	/** Revision of the key while this gateway holds it. */
	#revision: number | undefined;
	/** Monotonic time just before the latest successful renewal was sent. */
	#renewedAt = Number.NEGATIVE_INFINITY;
	#renewing: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: LeaseOptions) {
		this.#options = options;
	}

	/** Tries to acquire the lease every 3 s, then renews it. */
	open(): void {
		this.#timer = setInterval(() => void this.renew(), intervalMs).unref();
		void this.renew();
	}

	/** Checks the clock, so it is false as soon as a suspended process resumes. */
	get isHeld(): boolean {
		return this.#revision !== undefined && this.#options.monotonic() - this.#renewedAt < validMs;
	}

	/** Acquires or renews the lease. Public for tests; the timer calls it otherwise. */
	renew(): Promise<void> {
		this.#renewing ??= this.#renew().finally(() => {
			this.#renewing = undefined;
		});
		return this.#renewing;
	}

	/** Gives the lease up after a write has shown that another gateway drives. */
	stepDown(): void {
		if (this.#revision === undefined) return;
		this.#revision = undefined;
		this.#options.onChange(false);
	}

	/** Releases the lease, so that another gateway need not wait for its expiry. */
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
			// An own entry was written by a renewal whose response was lost.
			if (entry && entry.text !== holder) return;
			const revision = await bucket.set(key, holder, before ?? entry?.revision ?? 0);
			if (revision === undefined) return this.stepDown();
			// The lease was lost during the renewal.
			if (before !== this.#revision) return;
			this.#revision = revision;
			this.#renewedAt = at;
			if (before === undefined) onChange(true);
		} catch {
			// The result is unknown: `isHeld` becomes false by the clock.
		}
	}
}
