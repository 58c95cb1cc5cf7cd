/** nats-server with JetStream on a free port with its own folder. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "../../support/ports.js";
import { pathOf } from "../../support/programs.js";
import { cpuMicrosOf } from "./nginx.js";

export class NatsServer {
	/** `nats://127.0.0.1:<port>` */
	readonly url: string;
	readonly #child: ChildProcess;
	readonly #folder: string;

	private constructor(url: string, child: ChildProcess, folder: string) {
		this.url = url;
		this.#child = child;
		this.#folder = folder;
	}

	static async start(): Promise<NatsServer> {
		const [port, monitor] = [await freePort(), await freePort()];
		const folder = mkdtempSync(join(tmpdir(), "nats-"));
		const words = ["--addr=127.0.0.1", `--port=${port}`, `--http_port=${monitor}`, "--jetstream"];
		const child = spawn(pathOf("nats-server"), [...words, `--store_dir=${folder}`], { stdio: "ignore" });
		const isReady = async () =>
			(await fetch(`http://127.0.0.1:${monitor}/healthz`).catch(() => undefined))?.ok === true;
		while (!(await isReady())) await setTimeout(50);
		return new NatsServer(`nats://127.0.0.1:${port}`, child, folder);
	}

	/** Processor time so far, in microseconds. */
	cpuMicros(): number {
		return cpuMicrosOf(String(this.#child.pid));
	}

	/** Resident memory in bytes. */
	rss(): number {
		const [, kilobytes] =
			/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, "utf8")) ?? [];
		return Number(kilobytes) * 1024;
	}

	async close(): Promise<void> {
		const ended = once(this.#child, "exit");
		this.#child.kill("SIGKILL");
		await ended;
		rmSync(this.#folder, { recursive: true, force: true });
	}
}
