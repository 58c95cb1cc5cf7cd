/**
 * How many devices are admitted per second: as many as leave the event loop short delays, which are what reports of
 * the admitted ones wait for. Found by additive increase and multiplicative decrease, as TCP does (RFC 5681).
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { TokenBucket } from "../access/rates.js";

/**
 * After a longer delay of the event loop the rate falls, to no less than `lowestRate` devices/s. Delays of some
 * milliseconds double the latency of reports, but a fleet has to return in half a minute too; and on a computer with
 * other work they may have other causes.
 */
const bounds = [
	{ mostDelayMs: 50, lowestRate: 100 },
	{ mostDelayMs: 3, lowestRate: 400 },
] as const;
/** Between two changes of the rate. */
const stepMs = 250;
/** Per step in which devices were refused and the delay was short: 200 devices/s in a second. */
const increase = 50;
const decrease = 0.7;
const reportMs = 5_000;
/** On average: firmware adds up to half to `Retry-After`. */
const addedByFirmware = 1.25;
const longestWaitSeconds = 60;
const resolutionMs = 10;

export interface AdmissionRateOptions {
	/** Devices/s at the start. */
	readonly perSecond: number;
	readonly burst: number;
	/** Monotonic, in milliseconds. */
	readonly monotonic: () => number;
	/** Implemented by EventLoopDelay.take. */
	readonly takeDelayMs: () => number;
	/** Every 5 s while devices are refused. */
	readonly onReport: (report: AdmissionReport) => void;
}

export interface AdmissionReport {
	/** Devices/s. */
	readonly perSecond: number;
	/** Since the last report. */
	readonly admitted: number;
	readonly refused: number;
}

export class AdmissionRate {
	readonly #options: AdmissionRateOptions;
	readonly #rate: { perSecond: number; readonly burst: number; readonly monotonic: () => number };
	readonly #bucket: TokenBucket;
	#steppedAt: number;
	#isCrowded = false;
	/** When the last refused device is admitted, if all return on time. */
	#queueEndsAt: number;
	#reportedAt: number;
	#admitted = 0;
	#refused = 0;

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

	/** @returns undefined if a device is admitted; otherwise the seconds to wait */
	take(): number | undefined {
		const seconds = this.look();
		if (seconds !== undefined) return seconds;
		this.#bucket.take();
		this.#admitted += 1;
		return undefined;
	}

	/** Returns the result of `take` without admitting a device. */
	look(): number | undefined {
		this.#step();
		if (this.#bucket.take(0)) return undefined;
		this.#isCrowded = true;
		this.#refused += 1;
		return this.#nextPlace();
	}

	#step(): void {
		const { monotonic, perSecond, takeDelayMs } = this.#options;
		const time = monotonic();
		const passedMs = time - this.#steppedAt;
		if (passedMs < stepMs) return;
		const [isCrowded, delayMs] = [this.#isCrowded, takeDelayMs()];
		this.#steppedAt = time;
		this.#isCrowded = false;
		// The sample of a longer time does not show the present load.
		if (passedMs < 2 * stepMs) {
			const bound = bounds.find(({ mostDelayMs }) => delayMs > mostDelayMs);
			if (bound) {
				const lowest = Math.min(bound.lowestRate, perSecond, this.perSecond);
				this.#rate.perSecond = Math.max(this.perSecond * decrease, lowest);
			} else if (isCrowded) this.#rate.perSecond += increase;
		}
		if (time - this.#reportedAt >= reportMs) this.#report(time);
	}

	/** Spaces devices at the rate, at least at the first one, since the rate is lowest while a fleet is refused. */
	#nextPlace(): number {
		const time = this.#options.monotonic();
		const perSecond = Math.max(this.perSecond, this.#options.perSecond);
		const latest = time + longestWaitSeconds * addedByFirmware * 1000;
		this.#queueEndsAt = Math.min(Math.max(this.#queueEndsAt, time) + 1000 / perSecond, latest);
		return Math.max(1, Math.ceil((this.#queueEndsAt - time) / 1000 / addedByFirmware));
	}

	#report(time: number): void {
		const { perSecond } = this;
		const [admitted, refused] = [this.#admitted, this.#refused];
		this.#reportedAt = time;
		this.#admitted = this.#refused = 0;
		if (refused > 0) this.#options.onReport({ perSecond: Math.round(perSecond), admitted, refused });
	}
}

/** Samples this process's event loop. */
export class EventLoopDelay {
	readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });

	constructor() {
		this.#histogram.enable();
	}

	/** @returns 90th percentile since the last call, in milliseconds: garbage collection does not count */
	take(): number {
		const delayMs = this.#histogram.percentile(90) / 1e6 - resolutionMs;
		this.#histogram.reset();
		return Math.max(0, delayMs);
	}

	close(): void {
		this.#histogram.disable();
	}
}
