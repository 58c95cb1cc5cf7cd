/** Debian's haproxy on a free port of 127.0.0.1 in its own folder. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { onEnd, temporaryDirectory } from "./cleanup.js";
import { waitUntil } from "./eventually.js";
import { freePort, isListening } from "./ports.js";
import { pathOf } from "./programs.js";

/** @param lines of its `listen` section, without `bind` @returns its port */
export async function runHaproxy(t: TestContext, ...lines: readonly string[]): Promise<number> {
	const port = await freePort();
	const file = join(await temporaryDirectory(t), "haproxy.cfg");
	const timeouts = ["connect 5s", "client 1m", "server 1m"].map((timeout) => `timeout ${timeout}`);
	const section = [`bind 127.0.0.1:${port}`, "mode tcp", ...timeouts, ...lines];
	await writeFile(file, `listen gateway\n${section.map((line) => `    ${line}\n`).join("")}`);
	const child = spawn(pathOf("haproxy"), ["-db", "-f", file], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	let said = "";
	child.stderr.on("data", (chunk) => {
		said += chunk;
	});
	const exit = once(child, "exit");
	onEnd(t, async () => {
		child.kill("SIGKILL");
		await exit;
	});
	await waitUntil(() => {
		if (child.exitCode !== null) throw new Error(`haproxy did not start: ${said}`);
		return isListening(port);
	});
	return port;
}
