/** Intervals and a monotonic clock that run faster than real time, but not while this process is busy. */

import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";

const stepMs = 250;
/** Real time per step. */
const turnMs = 5;
/** Timers before a test mocks them. */
const { setInterval, clearInterval } = globalThis;

/** Mocks `setInterval` until the end of the test. @returns the clock */
export function runFast(t: TestContext): { readonly monotonic: () => number } {
	t.mock.timers.enable({ apis: ["setInterval"] });
	let ms = 0;
	const timer = setInterval(() => {
		ms += stepMs;
		t.mock.timers.tick(stepMs);
	}, turnMs);
	onEnd(t, () => clearInterval(timer));
	return { monotonic: () => ms };
}
