/**
 * Wall clock. A chip without a battery starts in 1970, when no certificate is valid. For TLS, this clock starts at the
 * image's build time or the last stored time, whichever is later. A time server sets it; until one has answered, the
 * gateway does.
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { System, TimePart, TimeQuery } from "../host.js";
import type { Settings } from "../settings.js";

const retryMs = 60_000;
/** A 20 ppm crystal drifts half a second in this time. */
const resyncMs = 6 * 3_600_000;
/** 64 bytes an hour (an NVS entry and its string) cause 139 sector erasures a year; a sector endures 100,000. */
const storeIntervalSeconds = 3600;
/** A stored time that is later by more than this was wrong. An earlier one is normal after a time without power. */
const toleranceSeconds = 86_400;
/** 2025-01-01: an earlier clock was not set. */
const earliestSeconds = 1_735_689_600;
/** 2106, the limit of 32 bits. */
const latestSeconds = 0xffff_ffff;

export interface ClockOptions {
	readonly part: TimePart;
	readonly system: System;
	/** Undefined: the host's default. */
	readonly server: string | undefined;
	readonly settings: Pick<Settings, "number" | "remember">;
	/** Called when the clock was corrected. */
	readonly onSet: () => void;
}

export class Clock {
	/** How far ahead the clock was when it was corrected, if by more than a day. */
	aheadSeconds: number | undefined;
	readonly #options: ClockOptions;
	#query: TimeQuery | undefined;
	#timer: Timer | undefined;
	/** Whether a time server has answered since the start. */
	#isSynchronized = false;

	/** Sets the clock unless it already shows a later time: it keeps running through a software restart. */
	constructor(options: ClockOptions) {
		this.#options = options;
		const { system } = options;
		const startSeconds = Math.max(system.buildTime, this.#storedSeconds);
		if (startSeconds > nowSeconds()) system.setTime(startSeconds);
		Timer.repeat(() => this.#storeHourly(), storeIntervalSeconds * 1000);
	}

	start(): void {
		if (this.#timer === undefined && this.#query === undefined) this.#requestTime();
	}

	stop(): void {
		this.#query?.close();
		this.#query = undefined;
		Timer.clear(this.#timer);
		this.#timer = undefined;
	}

	/** @param date HTTP date; ignored if it is before the build time, or if a time server has answered */
	setByGateway(date: string): void {
		const seconds = Math.floor(Date.parse(date) / 1000);
		const earliest = Math.max(earliestSeconds, this.#options.system.buildTime);
		if (!this.#isSynchronized && seconds >= earliest && seconds <= latestSeconds) this.#set(seconds);
	}

	/** Stores the time. Must be called before a restart. */
	store(): void {
		const seconds = nowSeconds();
		if (seconds >= earliestSeconds && seconds <= latestSeconds)
			this.#options.settings.remember("clock", seconds);
	}

	get #storedSeconds(): number {
		return this.#options.settings.number("clock", earliestSeconds, latestSeconds, 0);
	}

	#set(seconds: number): void {
		const aheadSeconds = nowSeconds() - seconds;
		if (aheadSeconds > toleranceSeconds) this.aheadSeconds = aheadSeconds;
		this.#options.system.setTime(seconds);
		this.#storeHourly();
		this.#options.onSet();
	}

	#storeHourly(): void {
		if (Math.abs(nowSeconds() - this.#storedSeconds) >= storeIntervalSeconds) this.store();
	}

	#requestTime(): void {
		const { part, server } = this.#options;
		const onTime = (seconds: number | undefined) => {
			this.#query = undefined;
			if (seconds !== undefined) {
				this.#isSynchronized = true;
				this.#set(seconds);
			}
			this.#plan(seconds === undefined ? retryMs : resyncMs);
		};
		const isAsked = attempt("clock", () => {
			this.#query = new part({ server, onTime });
		});
		// E.g. no memory for a socket.
		if (!isAsked) this.#plan(retryMs);
	}

	#plan(delayMs: number): void {
		this.#timer = Timer.set(() => {
			this.#timer = undefined;
			this.#requestTime();
		}, delayMs);
	}
}

function nowSeconds(): number {
	return Math.floor(Date.now() / 1000);
}
