/** haproxy as Debian ships it, before several gateways. Where it is not installed, tests are skipped. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { freePort } from "../../scripts/bench/servers/nginx.js";
import { onEnd, temporaryDirectory } from "./cleanup.js";

/** Debian installs it where a user's PATH does not lead. */
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/** Why tests with haproxy are skipped; undefined if it is installed. */
export const haproxyMissing: string | undefined = findHaproxy();

function findHaproxy(): string | undefined {
	try {
		execFileSync("haproxy", ["-v"], { env: environment });
		return undefined;
	} catch {
		return "haproxy is not installed (apt-get install haproxy)";
	}
}

/** Before gateways on these ports of 127.0.0.1, each asked for /readyz. @returns its address, `http://…` */
export async function startHaproxy(t: TestContext, ports: readonly number[]): Promise<string> {
	const port = await freePort();
	const path = join(await temporaryDirectory(t), "haproxy.cfg");
	const servers = ports.map((each) => `	server g${each} 127.0.0.1:${each} check`);
	await writeFile(
		path,
		`defaults
	mode http
	option forwardfor
	timeout connect 2s
	timeout client 1m
	timeout server 1m
	timeout tunnel 1h
	retries 1
	option redispatch
frontend gateways
	bind 127.0.0.1:${port}
	default_backend gateways
backend gateways
	balance leastconn
	option httpchk GET /readyz
	default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
	);
	const child = spawn("haproxy", ["-db", "-f", path], { env: environment, stdio: "ignore" });
	onEnd(t, async () => {
		child.kill("SIGKILL");
		if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
	});
	const url = `http://127.0.0.1:${port}`;
	while ((await fetch(`${url}/healthz`).catch(() => undefined))?.status !== 200) await setTimeout(50);
	return url;
}
