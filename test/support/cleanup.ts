/** Cleanup in reverse order: a folder is deleted after the gateway that writes to it has ended. */

import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

type Action = () => unknown;

/** Test, or work of a benchmark, that ends what was started for it. */
export interface Owner {
	after(end: () => Promise<void>): void;
}

const actionsOf = new WeakMap<Owner, Action[]>();
/** Pending cleanups. The runner ends a slow file with SIGTERM, which skips `after` hooks. */
const unfinished = new Set<() => Promise<void>>();
/** Timeout, so that a hanging cleanup does not keep the machine busy. */
const terminationMs = 10_000;

process.once("SIGTERM", async () => {
	const ends = [...unfinished].map((end) => end());
	await Promise.race([Promise.allSettled(ends), setTimeout(terminationMs)]);
	process.exit(128 + constants.signals.SIGTERM);
});

/** Registers a cleanup like `t.after`, but in reverse order, and continues after a failure. */
export function onEnd(t: Owner, action: Action): void {
	const known = actionsOf.get(t);
	if (known) {
		known.push(action);
		return;
	}
	const actions = [action];
	actionsOf.set(t, actions);
	const end = async () => {
		unfinished.delete(end);
		const failures: unknown[] = [];
		for (const next of actions.reverse())
			try {
				await next();
			} catch (error) {
				failures.push(error);
			}
		if (failures.length > 0) throw failures[0];
	};
	unfinished.add(end);
	t.after(end);
}

/** Creates an empty directory that is deleted when the test ends. */
export async function temporaryDirectory(t: Owner): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "gateway-test-"));
	onEnd(t, () => rm(directory, { recursive: true, force: true }));
	return directory;
}

/** Runs work outside of a test, and then its cleanups. */
export async function withCleanup<T>(work: (t: Owner) => Promise<T>): Promise<T> {
	const ends: (() => Promise<void>)[] = [];
	try {
		return await work({ after: (end) => ends.push(end) });
	} finally {
		for (const end of ends) await end();
	}
}
