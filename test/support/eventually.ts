/** Waits with a timeout and an error that names the awaited condition. */

import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";

/** Timeout in ms on a quiet computer. Long tests, benchmarks and the torment may wait for minutes. */
const limitMs = /(\.long\.test|\/main)\.[jt]s$/.test(process.argv[1] ?? "") ? 600_000 : 10_000;
const longestPauseMs = 50;
/** Timers before a test mocks them. */
const { setTimeout, clearTimeout } = globalThis;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param what description, or a function that returns it after the timeout */
export function within<T>(awaited: PromiseLike<T>, what: string | (() => string), ms = limitMs): Promise<T> {
	// Created here for the caller's stack.
	const error = new Error();
	const { stack = "" } = error;
	const start = performance.now();
	const limited = new Promise<T>((resolve, reject) => {
		const expire = () => {
			const remaining = start + ms * slowdown() - performance.now();
			if (remaining > 1) {
				timer = setTimeout(expire, remaining).unref();
				return;
			}
			error.message = `Timed out after ${ms / 1000} s waiting for ${typeof what === "string" ? what : what()}.`;
			error.stack = stack.replace(/^Error/, () => `Error: ${error.message}`);
			reject(error);
		};
		let timer = setTimeout(expire, ms).unref();
		void Promise.resolve(awaited)
			.finally(() => clearTimeout(timer))
			.then(resolve, reject);
	});
	// The caller may ignore the promise.
	limited.catch(() => {});
	return limited;
}

/** @returns how much longer work takes on this computer at its present load; 1 on Windows, which has no load average */
function slowdown(): number {
	return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

/** Resolves with the event's arguments, like `once` of node:events. */
export function nextEvent(
	emitter: NodeJS.EventEmitter,
	event: string,
	options?: { signal: AbortSignal },
): ReturnType<typeof once> {
	return within(once(emitter, event, options), `"${event}" of a ${emitter.constructor.name}`);
}

/** Resolves once the condition is true. @param turn awaited before each further check */
export async function waitUntil(
	condition: () => unknown,
	turn: () => unknown = () => pause(5),
	ms = limitMs,
): Promise<void> {
	const what = () => sourceOf(condition);
	await poll(async () => ((await condition()) ? true : undefined), { turn, what, ms });
}

/** Resolves with the first value for which `predicate` is true; default: the first one. @param read may throw until then */
export async function eventually<T>(
	read: () => T | Promise<T>,
	predicate: (value: T) => boolean = () => true,
	ms = limitMs,
): Promise<T> {
	let last = "";
	const attempt = async () => {
		try {
			const value = await read();
			if (predicate(value)) return { value };
			last = JSON.stringify(value);
		} catch (error) {
			last = String(error);
		}
		return undefined;
	};
	const what = () => `${sourceOf(predicate)} of ${sourceOf(read)}; the last was ${last}`;
	let pauseMs = 5;
	// A read is often an HTTP request.
	const turn = () => {
		pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
		return pause(pauseMs);
	};
	return (await poll(attempt, { turn, what, ms })).value;
}

async function poll<T>(
	attempt: () => Promise<T | undefined>,
	{ turn, what, ms }: { turn: () => unknown; what: () => string; ms: number },
): Promise<T> {
	let isOver = false;
	const find = async () => {
		for (;;) {
			const found = await attempt();
			if (found !== undefined) return found;
			if (isOver) throw new Error("too late");
			await turn();
		}
	};
	try {
		return await within(find(), what, ms);
	} finally {
		isOver = true;
	}
}

/** @returns the source of a function for an error message */
export function sourceOf(quoted: (...values: never[]) => unknown): string {
	return String(quoted)
		.replace(/^(async )?\(\)\s*=>\s*/, "")
		.replaceAll(/\s+/g, " ")
		.slice(0, 300);
}

/** Promise that the test settles. */
export function deferred<T = void>() {
	let [resolve, reject] = [(_value: T) => {}, (_error: Error) => {}];
	const promise = new Promise<T>((...settle) => {
		[resolve, reject] = settle;
	});
	return { promise, resolve, reject };
}
