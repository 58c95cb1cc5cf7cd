/**
 * The wall clock. A chip without a battery starts in 1970, where no certificate is valid yet: this clock starts at the later
 * of the image's build time and the time last stored, so that a gateway can be reached over TLS before a time server has
 * answered, or where there is none. A time server corrects it, in either direction.
 */

import Timer from "timer";
import type { System, TimePart, TimeQuery } from "../host.js";
import type { Settings } from "../settings.js";

const retryMs = 60_000;
/** A crystal of 20 ppm drifts by half a second in this time. */
const resyncMs = 6 * 3_600_000;
/**
 * At most one write an hour: 8,760 a year of 64 bytes each (NVS: an entry and its text) fill 139 sectors of flash, each of
 * which bears 100,000 erasures.
 */
const storeIntervalSeconds = 3600;
/** 2025-01-01: an earlier time was never set. */
const earliestSeconds = 1_735_689_600;
/** The last second that 32 bits without a sign hold, in 2106. */
const latestSeconds = 0xffff_ffff;

export interface ClockOptions {
	readonly part: TimePart;
	readonly system: System;
	/** The time server; undefined: the host's default. */
	readonly server: string | undefined;
	readonly settings: Pick<Settings, "number" | "remember">;
}

export class Clock {
	readonly #options: ClockOptions;
	#query: TimeQuery | undefined;
	#timer: Timer | undefined;

	/** Sets the clock, unless it is later already: a restart by software does not stop the chip's. */
	constructor(options: ClockOptions) {
		this.#options = options;
		const { system } = options;
		const startSeconds = Math.max(system.buildTime, this.#storedSeconds);
		if (startSeconds > nowSeconds()) system.setTime(startSeconds);
		Timer.repeat(() => this.#storeHourly(), storeIntervalSeconds * 1000);
	}

	/** There is a network: asks for the time, now and every few hours. */
	start(): void {
		if (this.#timer === undefined && this.#query === undefined) this.#ask();
	}

	/** There is no network any more. */
	stop(): void {
		this.#query?.close();
		this.#query = undefined;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	/** Hands the time to the settings; before a restart that is wanted. */
	store(): void {
		const seconds = nowSeconds();
		if (seconds >= earliestSeconds && seconds <= latestSeconds)
			this.#options.settings.remember("clock", seconds);
	}

	get #storedSeconds(): number {
		return this.#options.settings.number("clock", earliestSeconds, latestSeconds, 0);
	}

	#storeHourly(): void {
		if (Math.abs(nowSeconds() - this.#storedSeconds) >= storeIntervalSeconds) this.store();
	}

	#ask(): void {
		const { part, system, server } = this.#options;
		try {
			this.#query = new part({
				server,
				onTime: (seconds) => {
					this.#query = undefined;
					if (seconds !== undefined) system.setTime(seconds);
					this.#storeHourly();
					this.#plan(seconds === undefined ? retryMs : resyncMs);
				},
			});
		} catch (error) {
			// No memory for a socket, say. This runs in a timer, where an exception is a restart.
			trace(`clock: ${error}\n`);
			this.#plan(retryMs);
		}
	}

	#plan(delayMs: number): void {
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#ask();
		}, delayMs);
	}
}

function nowSeconds(): number {
	return Math.floor(Date.now() / 1000);
}
