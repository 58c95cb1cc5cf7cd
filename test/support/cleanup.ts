/** What a test leaves behind is taken down in reverse: a folder is deleted after the gateway that writes to it has ended. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

type Action = () => unknown;

const actionsOf = new WeakMap<TestContext, Action[]>();

/** Like `t.after`, but what is asked for last is done first, and one failure does not keep the rest from being done. */
export function onEnd(t: TestContext, action: Action): void {
	const known = actionsOf.get(t);
	if (known) {
		known.push(action);
		return;
	}
	const actions = [action];
	actionsOf.set(t, actions);
	t.after(async () => {
		const failures: unknown[] = [];
		for (const next of actions.reverse())
			try {
				await next();
			} catch (error) {
				failures.push(error);
			}
		if (failures.length > 0) throw failures[0];
	});
}

/** An empty directory that is deleted when the test ends. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "gateway-test-"));
	onEnd(t, () => rm(directory, { recursive: true, force: true }));
	return directory;
}
