/** Lock file with the id of the process that holds it. A lock of a process that no longer runs is free. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** @returns false if another process holds the lock */
export function acquireLock(file: string): boolean {
	if (isHeld(file)) return false;
	rmSync(file, { force: true });
	try {
		writeFileSync(file, String(process.pid), { flag: "wx" });
		return true;
	} catch {
		return false;
	}
}

export function releaseLock(file: string): void {
	rmSync(file, { force: true });
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
