/**
 * Moddable's `timer` in Node, on virtual time. It replaces "timer" in tests that run modules of device/ outside XS
 * (`paths` in tsconfig.json), so that half a minute of silence takes no time and every run is reproducible.
 */

interface Timer {
	readonly brand: "timer";
}

interface Entry extends Timer {
	readonly order: number;
	callback: () => void;
	dueMs: number;
	repeatMs: number;
}

let nowMs = 0;
let made = 0;
let turns = 0;
const entries = new Set<Entry>();

const Timer = Object.freeze({
	set(callback: (timer: Timer) => void, interval = 0, repeat = 0): Timer {
		const entry: Entry = {
			brand: "timer",
			order: made++,
			callback: () => callback(entry),
			dueMs: nowMs + interval,
			repeatMs: repeat,
		};
		entries.add(entry);
		return entry;
	},
	repeat(callback: (timer: Timer) => void, interval: number): Timer {
		return Timer.set(callback, interval, interval);
	},
	schedule(timer: Timer, interval: number, repeat = 0): void {
		const entry = [...entries].find((candidate) => candidate === timer);
		if (!entry) throw new Error("this timer has ended");
		entry.dueMs = nowMs + interval;
		entry.repeatMs = repeat;
	},
	clear(timer: Timer | null | undefined): void {
		for (const entry of entries) if (entry === timer) entries.delete(entry);
	},
});

export default Timer;

export const clock = {
	/** Milliseconds since the start. */
	get now(): number {
		return nowMs;
	},

	/** Number of turns: callbacks that have run. */
	get turns(): number {
		return turns;
	},

	/** Number of pending timers. */
	get pending(): number {
		return entries.size;
	},

	/** Runs due timers in order until `isDone`. @throws Error after too long */
	runUntil(isDone: () => boolean, limitMs: number): void {
		const endMs = nowMs + limitMs;
		while (!isDone()) {
			const next = earliest();
			if (!next || next.dueMs > endMs) throw new Error(`nothing more happened within ${limitMs} ms`);
			nowMs = Math.max(nowMs, next.dueMs);
			if (next.repeatMs > 0) next.dueMs += next.repeatMs;
			else entries.delete(next);
			turns += 1;
			next.callback();
		}
	},

	/** Advances the clock by `ms`. */
	pass(ms: number): void {
		let isOver = false;
		Timer.set(() => {
			isOver = true;
		}, ms);
		clock.runUntil(() => isOver, ms);
	},

	/** Makes the current turn take `ms`. */
	spend(ms: number): void {
		nowMs += ms;
	},

	/** Discards all timers, as a power cut does. */
	clear(): void {
		entries.clear();
	},
};

function earliest(): Entry | undefined {
	let first: Entry | undefined;
	for (const entry of entries)
		if (!first || entry.dueMs < first.dueMs || (entry.dueMs === first.dueMs && entry.order < first.order))
			first = entry;
	return first;
}
