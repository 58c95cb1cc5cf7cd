/** Debian's haproxy on a free port of 127.0.0.1 in its own folder. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryDirectory } from "./cleanup.js";
import { freePort } from "./ports.js";
import { startServer } from "./server-program.js";

/** @param lines of its `listen` section, without `bind` @returns its port */
export async function runHaproxy(t: TestContext, ...lines: readonly string[]): Promise<number> {
	const port = await freePort();
	const file = join(await temporaryDirectory(t), "haproxy.cfg");
	const timeouts = ["connect 5s", "client 1m", "server 1m"].map((timeout) => `timeout ${timeout}`);
	const section = [`bind 127.0.0.1:${port}`, "mode tcp", ...timeouts, ...lines];
	await writeFile(file, `listen gateway\n${section.map((line) => `    ${line}\n`).join("")}`);
	await startServer(t, port, "haproxy", "-db", "-f", file);
	return port;
}
