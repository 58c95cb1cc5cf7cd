/** Timers and a monotonic clock that run faster than real time, but not while this process is busy. */

import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";

const stepMs = 100;
/** Real time per step. */
const turnMs = 2;
/** Timers before a test mocks them. */
const { setInterval, clearInterval, clearTimeout } = globalThis;

/** Mocks these functions until the end of the test. @returns the clock */
export function runFast(
	t: TestContext,
	apis: readonly ("setInterval" | "setTimeout")[] = ["setInterval"],
): { readonly monotonic: () => number } {
	t.mock.timers.enable({ apis: [...apis] });
	keepToOwnTimers(t);
	let ms = 0;
	const timer = setInterval(() => {
		ms += stepMs;
		t.mock.timers.tick(stepMs);
	}, turnMs);
	onEnd(t, () => clearInterval(timer));
	return { monotonic: () => ms };
}

/**
 * Lets a callback end its own interval, which mocked timers of Node 20 go on to repeat, and lets a timer of before, such as
 * that of a connection that a previous test has closed, be cleared: Node would clear one of this test, at the same place in
 * its queue.
 */
function keepToOwnTimers({ mock }: TestContext): void {
	const mocked = { ...globalThis };
	const own = new WeakSet<object>();
	const ended = new WeakSet<object>();
	const keep = (timer: NodeJS.Timeout) => {
		own.add(timer);
		return timer;
	};
	const clear = (timer: NodeJS.Timeout | undefined, clearOwn: typeof clearTimeout) => {
		if (timer === undefined || !own.has(timer)) return clearTimeout(timer);
		ended.add(timer);
		clearOwn(timer);
	};
	mock.method(
		globalThis,
		"setTimeout",
		(work: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
			keep(mocked.setTimeout(work, ms, ...values)),
	);
	mock.method(
		globalThis,
		"setInterval",
		(work: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) => {
			const timer = keep(mocked.setInterval((...all) => ended.has(timer) || work(...all), ms, ...values));
			return timer;
		},
	);
	mock.method(globalThis, "clearTimeout", (timer?: NodeJS.Timeout) => clear(timer, mocked.clearTimeout));
	mock.method(globalThis, "clearInterval", (timer?: NodeJS.Timeout) => clear(timer, mocked.clearInterval));
}
