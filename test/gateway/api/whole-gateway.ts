/** Gateway with every extension, including those enabled by a setting. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { loadExtensions } from "../../../gateway/extensions.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import {
	type RunningGateway,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";

export async function runWholeGateway(t: TestContext, options: RunOptions = {}): Promise<RunningGateway> {
	const webhooksFile = join(await temporaryDirectory(t), "webhooks.json");
	// Nothing listens there, and it subscribes to no event.
	const webhook = { url: "http://127.0.0.1:1/", events: [], secret: "secret-of-the-fixtures" };
	await writeFile(webhooksFile, JSON.stringify([webhook]));
	const loaded = await loadExtensions({ WEBHOOKS_FILE: webhooksFile }, createLog("silent"));
	return runGateway(t, { ...loaded, ...options });
}
