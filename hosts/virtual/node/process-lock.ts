/** Lock file with the id of the process that holds it. A lock of a process that no longer runs is free. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** @returns a function that releases the lock; undefined if another process holds it */
export function acquireLock(file: string): (() => void) | undefined {
	if (isHeld(file)) return undefined;
	const release = () => rmSync(file, { force: true });
	release();
	try {
		writeFileSync(file, String(process.pid), { flag: "wx" });
		return release;
	} catch {
		return undefined;
	}
}

function isHeld(file: string): boolean {
	try {
		const pid = Number(readFileSync(file, "utf8"));
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
