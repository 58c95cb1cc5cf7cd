import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Waits for the end of a process. @returns exit code; null after a signal @throws Error if the process cannot be started */
export async function exitCodeOf(child: ChildProcess): Promise<number | null> {
	const [code]: (number | null)[] = await once(child, "close");
	return code ?? null;
}
