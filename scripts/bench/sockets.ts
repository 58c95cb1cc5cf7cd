/** How many sockets one process may have open here. */

import { readFileSync } from "node:fs";

const fallback = 10_000;
/** What a process has open beside the sockets in question. */
const reserve = 200;

/** Node raises its own limit as far as it may; this is how far that is (`ulimit -Hn`). */
export function socketsAtMost(): number {
	try {
		const [, limit] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return limit === undefined ? fallback : Number(limit) - reserve;
	} catch {
		return fallback;
	}
}
