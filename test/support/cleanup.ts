/** What a test leaves behind is taken down in reverse: a folder is deleted after the gateway that writes to it has ended. */

import { mkdtemp, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";

type Action = () => unknown;

const actionsOf = new WeakMap<TestContext, Action[]>();
/** Of tests that run: the runner ends a file that takes too long by SIGTERM, and no test's `after` is called then. */
const unfinished = new Set<() => Promise<void>>();
/** So that one action without an end does not keep the rest of the machine busy. */
const terminationMs = 10_000;

process.once("SIGTERM", async () => {
	const ends = [...unfinished].map((end) => end());
	await Promise.race([Promise.allSettled(ends), setTimeout(terminationMs)]);
	process.exit(128 + constants.signals.SIGTERM);
});

/** Like `t.after`, but what is asked for last is done first, and one failure does not keep the rest from being done. */
export function onEnd(t: TestContext, action: Action): void {
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

/** An empty directory that is deleted when the test ends. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "gateway-test-"));
	onEnd(t, () => rm(directory, { recursive: true, force: true }));
	return directory;
}
