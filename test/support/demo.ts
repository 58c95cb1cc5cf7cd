/** `npm run demo` as a separate process with its own data folder. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import { type CommandLine, runCommand } from "./command-line.js";
import { monitorToken } from "./gateway-settings.js";

export interface Demo {
	/** URL, for example `http://127.0.0.1:40123`. */
	readonly url: string;
	/** Ids of its devices: a DEV-1 and a PROTO-1. */
	readonly dev: string;
	readonly proto: string;
	readonly command: CommandLine;
}

/** @param env additional variables; default: any free port */
export async function runDemo(
	t: TestContext,
	folder: string,
	env: Readonly<Record<string, string>> = {},
): Promise<Demo> {
	const command = runCommand(t, "scripts/demo.ts", [], {
		PORT: "0",
		DATA_DIR: folder,
		RELEASES_DIR: join(folder, "releases"),
		MONITOR_TOKEN: monitorToken,
		...env,
	});
	await command.printed(/Press Ctrl-C to stop/);
	const [, dev = "", proto = "", url = ""] =
		/Devices +(\S+), (\S+)\nDashboard +(\S+)\/login/.exec(command.output()) ?? [];
	return { url, dev, proto, command };
}
