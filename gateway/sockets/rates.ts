/**
 * Who says too much, and what becomes of it. Without this one client that loops could keep the whole gateway busy, or fill
 * its log. TCP passes the wait on to the sender of a socket that is not read: nobody else has to wait for it.
 */

import type { WebSocket } from "ws";

type Readable = Pick<WebSocket, "pause" | "resume">;

export interface Rate {
	/** In the long run. */
	readonly perSecond: number;
	/** At once. */
	readonly burst: number;
	/** Milliseconds, from any start. */
	readonly now: () => number;
}

/**
 * Lets a burst through, then a steady rate: a bucket of tokens that refills.
 *
 * @returns what takes `cost` tokens, where there is one at least, and says whether there was; what is missing is owed
 */
export function createBucket({ perSecond, burst, now }: Rate): (cost?: number) => boolean {
	let tokens = burst;
	let filledAt = now();
	return (cost = 1) => {
		const time = now();
		const refill = (Math.max(0, time - filledAt) / 1000) * perSecond;
		tokens = Math.min(burst, tokens + refill);
		filledAt = time;
		if (tokens < 1) return false;
		tokens -= cost;
		return true;
	};
}

/** @returns what counts an event at a time in milliseconds, and says how many fell within the last 60 s */
export function createMinuteCounter(): (now: number) => number {
	let times: number[] = [];
	return (now) => {
		times = times.filter((time) => now - time < 60_000);
		return times.push(now);
	};
}

/**
 * For messages that are refused when there are too many of them: the socket is not read for as long as the surplus would
 * have taken at the allowed rate. Refusing alone is not enough: whoever sends garbage at full speed would keep the gateway
 * busy with refusals.
 *
 * @param perSecond messages that are allowed, in the long run
 * @param maxMs the longest wait
 * @returns what is to be called for each message that is refused for its rate
 */
export function createBrake(socket: Readable, perSecond: number, maxMs: number): () => void {
	/** Messages that were refused since the socket was last read freely. */
	let surplus = 0;
	const release = () => {
		surplus = 0;
		socket.resume();
	};
	return () => {
		surplus += 1;
		if (surplus > 1) return;
		socket.pause();
		// What has been read already comes in this turn of the event loop; only after it the surplus is known.
		setImmediate(() => setTimeout(release, Math.min(maxMs, (surplus / perSecond) * 1000)).unref());
	};
}

/** A message counts once, and once more for each time that it is so many characters long. */
const charactersATurn = 2048;
const turnsMs = 50;

export interface PacerOptions {
	readonly socket: Readable;
	readonly rate: Rate;
	/** A message's turn has come. */
	readonly onTurn: (text: string) => void;
	/** A message has to wait, and none did before. */
	readonly onPaused: () => void;
}

/**
 * For messages none of which may be lost: what comes too fast waits for its turn, and meanwhile its socket is not read. So
 * no more can wait than what was read in one go.
 */
export function createPacer({ socket, rate, onTurn, onPaused }: PacerOptions) {
	const takeTokens = createBucket(rate);
	const mayPass = (text: string) => takeTokens(1 + Math.floor(text.length / charactersATurn));
	let waiting: string[] = [];
	let timer: NodeJS.Timeout | undefined;
	const handOn = () => {
		const stays = waiting.findIndex((text) => !mayPass(text));
		const passing = waiting.splice(0, stays < 0 ? waiting.length : stays);
		for (const text of passing) onTurn(text);
		timer = waiting.length > 0 ? setTimeout(handOn, turnsMs).unref() : undefined;
		if (!timer) socket.resume();
	};
	return {
		/** Hands a message on, at once or when its turn comes. */
		take(text: string): void {
			if (!timer && mayPass(text)) return onTurn(text);
			waiting.push(text);
			if (timer) return;
			timer = setTimeout(handOn, turnsMs).unref();
			socket.pause();
			onPaused();
		},

		/** What still waits is dropped. */
		close(): void {
			clearTimeout(timer);
			waiting = [];
		},
	};
}
