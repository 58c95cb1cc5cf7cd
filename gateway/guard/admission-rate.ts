/**
 * How many devices a second are let in: as many as the event loop bears. The rate is found by additive increase and
 * multiplicative decrease, as TCP finds that of a network (RFC 5681).
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { TokenBucket } from "../rates.js";

/** Of the event loop: what others wait at most. */
const mostDelayMs = 50;
/** Between two changes of the rate. */
const stepMs = 250;
/** Devices a second more in each step in which some were refused and no delay was too long: 200 in a second. */
const increase = 50;
/** After a step with a longer delay. */
const decrease = 0.7;
/** Devices a second: what keeps the event loop busy may be something else. */
const lowestRate = 100;
const reportMs = 5_000;
/** Firmware adds up to half to what it is told. */
const addedByFirmware = 1.25;
const longestWaitSeconds = 60;
/** Of the sampled delay. */
const resolutionMs = 10;

export interface AdmissionRateOptions {
	/** Devices a second at the start. */
	readonly perSecond: number;
	/** At once. */
	readonly burst: number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** The delay of the event loop since the last call, in milliseconds: see EventLoopDelay. */
	readonly takeDelayMs: () => number;
	/** Called every 5 s while devices are refused. */
	readonly onReport: (report: AdmissionReport) => void;
}

export interface AdmissionReport {
	/** The rate, in devices a second. */
	readonly perSecond: number;
	/** Since the last report, as is `refused`. */
	readonly admitted: number;
	readonly refused: number;
}

export class AdmissionRate {
	readonly #options: AdmissionRateOptions;
	readonly #rate: { perSecond: number; readonly burst: number; readonly monotonic: () => number };
	readonly #bucket: TokenBucket;
	#steppedAt: number;
	#isCrowded = false;
	/** When the last of those that were refused is let in, if all come back as told. */
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

	/** Devices a second. */
	get perSecond(): number {
		return this.#rate.perSecond;
	}

	/** @returns undefined if a device may enter; otherwise after how many seconds it should try again */
	take(): number | undefined {
		const seconds = this.look();
		if (seconds !== undefined) return seconds;
		this.#bucket.take();
		this.#admitted += 1;
		return undefined;
	}

	/** The same, but a device that may enter does not yet. */
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
		// The delay of a longer time says nothing about the devices that connect now.
		if (passedMs < 2 * stepMs) {
			if (delayMs > mostDelayMs)
				this.#rate.perSecond = Math.max(this.perSecond * decrease, Math.min(lowestRate, perSecond));
			else if (isCrowded) this.#rate.perSecond += increase;
		}
		if (time - this.#reportedAt >= reportMs) this.#report(time);
	}

	/**
	 * One place after the other, at the rate; at least at that of the start, as the rate is lowest while a whole fleet is
	 * being refused, and a device that returns too early costs little.
	 */
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

/** Samples the delay of this process's event loop. */
export class EventLoopDelay {
	readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });

	constructor() {
		this.#histogram.enable();
	}

	/**
	 * @returns since the last call, in milliseconds: nine of ten samples were shorter, so that a garbage collection or two
	 * do not count
	 */
	take(): number {
		const delayMs = this.#histogram.percentile(90) / 1e6 - resolutionMs;
		this.#histogram.reset();
		return Math.max(0, delayMs);
	}

	close(): void {
		this.#histogram.disable();
	}
}
