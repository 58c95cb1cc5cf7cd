/**
 * Rate limit of connecting devices, adapted to the delay of the event loop, which delays the reports of connected
 * devices. Additive increase and multiplicative decrease, as in TCP (RFC 5681).
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { TokenBucket } from "../access/rates.js";

/**
 * Delays of the event loop above which the rate decreases, to at least `minRate` devices/s. Delays of a few milliseconds
 * double the latency of reports, but a fleet must be able to reconnect within half a minute, and on a busy computer the
 * delays may have other causes.
 */
const delayLimits = [
	{ maxDelayMs: 50, minRate: 100 },
	{ maxDelayMs: 3, minRate: 400 },
] as const;
/** Interval of adapting the rate. */
const stepMs = 250;
/** Devices/s added in each step in which devices were rejected and the delay was short; 200 devices/s per second. */
const increase = 50;
/** Factor by which the rate decreases. */
const decrease = 0.7;
const reportMs = 5_000;
/** Average factor of the delay before a retry: firmware adds up to half to `Retry-After`. */
const firmwareDelayFactor = 1.25;
const maxRetrySeconds = 60;
const resolutionMs = 10;

export interface AdmissionRateOptions {
	/** Devices/s at the start. */
	readonly perSecond: number;
	readonly burst: number;
	/** Monotonic, in milliseconds. */
	readonly monotonic: () => number;
	/** Returns the delay of the event loop since the last call, in ms; see watchEventLoopDelay. */
	readonly readDelayMs: () => number;
	/** Called every 5 s while devices are rejected. @param perSecond present rate */
	readonly onThrottling: (perSecond: number) => void;
}

export class AdmissionRate {
	readonly #options: AdmissionRateOptions;
	readonly #rate: { perSecond: number; readonly burst: number; readonly monotonic: () => number };
	readonly #bucket: TokenBucket;
	#steppedAt: number;
	#hasRejected = false;
	/** Monotonic time at which the last rejected device will be admitted, if all retry on time. */
	#queueEndsAt: number;
	#reportedAt: number;

	constructor(options: AdmissionRateOptions) {
		const { perSecond, burst, monotonic } = options;
		this.#options = options;
		this.#rate = { perSecond, burst, monotonic };
		this.#bucket = new TokenBucket(this.#rate);
		this.#steppedAt = this.#queueEndsAt = this.#reportedAt = monotonic();
	}

	/** Devices/s. */
	get perSecond(): number {
		return this.#rate.perSecond;
	}

	/** Admits or rejects a device. @returns undefined if it is admitted; otherwise the seconds until it should retry */
	tryAdmit(): number | undefined {
		const seconds = this.check();
		if (seconds === undefined) this.#bucket.take();
		return seconds;
	}

	/** Returns the result of `tryAdmit` without admitting a device. */
	check(): number | undefined {
		this.#step();
		if (this.#bucket.take(0)) return undefined;
		this.#hasRejected = true;
		return this.#retrySeconds();
	}

	/** Adapts the rate. */
	#step(): void {
		const { monotonic, perSecond, readDelayMs, onThrottling } = this.#options;
		const time = monotonic();
		const passedMs = time - this.#steppedAt;
		if (passedMs < stepMs) return;
		const [hasRejected, delayMs] = [this.#hasRejected, readDelayMs()];
		this.#steppedAt = time;
		this.#hasRejected = false;
		// A sample of a longer period does not represent the current load.
		if (passedMs < 2 * stepMs) {
			const limit = delayLimits.find(({ maxDelayMs }) => delayMs > maxDelayMs);
			if (limit) {
				const minRate = Math.min(limit.minRate, perSecond, this.perSecond);
				this.#rate.perSecond = Math.max(this.perSecond * decrease, minRate);
			} else if (hasRejected) this.#rate.perSecond += increase;
		}
		if (!hasRejected || time - this.#reportedAt < reportMs) return;
		this.#reportedAt = time;
		onThrottling(Math.round(this.perSecond));
	}

	/**
	 * Returns `Retry-After` of a rejected device. Spaces the retries at the current rate, but at least at the initial one,
	 * since the rate is lowest while a fleet is rejected.
	 */
	#retrySeconds(): number {
		const time = this.#options.monotonic();
		const perSecond = Math.max(this.perSecond, this.#options.perSecond);
		const latest = time + maxRetrySeconds * firmwareDelayFactor * 1000;
		this.#queueEndsAt = Math.min(Math.max(this.#queueEndsAt, time) + 1000 / perSecond, latest);
		return Math.max(1, Math.ceil((this.#queueEndsAt - time) / 1000 / firmwareDelayFactor));
	}
}

/** Measures the delay of this process's event loop. */
export function watchEventLoopDelay() {
	const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
	histogram.enable();
	return {
		/** Returns the 90th percentile since the last call, in milliseconds, which excludes pauses for garbage collection. */
		readMs: (): number => {
			const delayMs = histogram.percentile(90) / 1e6 - resolutionMs;
			histogram.reset();
			return Math.max(0, delayMs);
		},
		close: (): void => void histogram.disable(),
	};
}
