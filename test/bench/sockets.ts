/** Maximum number of sockets of one process. */

import { readFileSync } from "node:fs";

const fallback = 10_000;
/** Other open files of a process. */
const reserve = 200;

/** Node raises its own limit to the hard limit (`ulimit -Hn`). */
export function socketsAtMost(): number {
	try {
		const [, limit] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return limit === undefined ? fallback : Number(limit) - reserve;
	} catch {
		return fallback;
	}
}
