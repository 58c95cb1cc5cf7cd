/** Timers and a monotonic clock that run faster than real time, but not while this process is busy. */

import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";

const stepMs = 100;
/** Real time per step. */
const turnMs = 2;
/** Timers before a test mocks them. */
const { setInterval, clearInterval } = globalThis;

/** Mocks these functions until the end of the test. @returns the clock */
export function runFast(
	t: TestContext,
	apis: readonly ("setInterval" | "setTimeout")[] = ["setInterval"],
): { readonly monotonic: () => number } {
	t.mock.timers.enable({ apis: [...apis] });
	endIntervals(t);
	let ms = 0;
	const timer = setInterval(() => {
		ms += stepMs;
		t.mock.timers.tick(stepMs);
	}, turnMs);
	onEnd(t, () => clearInterval(timer));
	return { monotonic: () => ms };
}

/** Lets a callback end its own interval, which mocked timers of Node 20 go on to repeat. */
function endIntervals({ mock }: TestContext): void {
	const mocked = { setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval };
	const ended = new WeakSet<object>();
	mock.method(globalThis, "setInterval", (work: () => void, ms?: number) => {
		const timer = mocked.setInterval(() => ended.has(timer) || work(), ms);
		return timer;
	});
	mock.method(globalThis, "clearInterval", (timer?: NodeJS.Timeout) => {
		if (timer) ended.add(timer);
		mocked.clearInterval(timer);
	});
}
