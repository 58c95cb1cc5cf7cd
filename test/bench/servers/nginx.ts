/** nginx with Debian's settings for files and one worker, on a free port in its own folder. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "../../support/ports.js";
import { pathOf } from "../../support/programs.js";

export class Nginx {
	readonly url: string;
	readonly #process: ChildProcess;
	readonly #folder: string;

	private constructor(url: string, child: ChildProcess, folder: string) {
		this.url = url;
		this.#process = child;
		this.#folder = folder;
	}

	/** @param files content by name, served at `/<name>` */
	static async start(files: Readonly<Record<string, Buffer>>): Promise<Nginx> {
		const port = await freePort();
		return Nginx.serve(port, `server { listen 127.0.0.1:${port}; root www; }`, files);
	}

	/**
	 * @param blocks contents of its `http` block
	 * @param files content by name, in the folder `www`
	 */
	static async serve(
		port: number,
		blocks: string,
		files: Readonly<Record<string, string | Buffer>> = {},
	): Promise<Nginx> {
		const folder = mkdtempSync(join(tmpdir(), "nginx-"));
		mkdirSync(join(folder, "www"), { mode: 0o755 });
		for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, "www", name), content);
		writeFileSync(join(folder, "nginx.conf"), configuration(folder, blocks));
		const child = spawn(
			pathOf("nginx"),
			["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")],
			{ stdio: "ignore" },
		);
		const url = `http://127.0.0.1:${port}`;
		for (let attempt = 0; attempt < 100; attempt++) {
			if (await accepts(port)) return new Nginx(url, child, folder);
			await setTimeout(50);
		}
		child.kill();
		throw new Error(`nginx did not start: ${readFileSync(join(folder, "error.log"), "utf8")}`);
	}

	/** Processor time of all its processes so far, in microseconds. */
	cpuMicros(): number {
		const own = this.#process.pid ?? 0;
		const children = readFileSync(`/proc/${own}/task/${own}/children`, "utf8").trim().split(" ");
		return [String(own), ...children].reduce((sum, pid) => sum + cpuMicrosOf(pid), 0);
	}

	async close(): Promise<void> {
		const ended = once(this.#process, "exit");
		this.#process.kill("SIGTERM");
		await ended;
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

/** First figure of schedstat: nanoseconds on a processor, including the kernel's; `stat` counts in steps of 10 ms. */
export function cpuMicrosOf(pid: string): number {
	return readdirSync(`/proc/${pid}/task`)
		.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1000)
		.reduce((sum, micros) => sum + micros, 0);
}

/** Whether a server listens there. */
function accepts(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1", () => resolve(true));
		socket.on("error", () => resolve(false));
		socket.on("connect", () => socket.destroy());
	});
}

function configuration(folder: string, blocks: string): string {
	const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
	return `
daemon off;
worker_processes 1;
pid ${folder}/pid;
events { worker_connections 4096; }
http {
	sendfile on;
	tcp_nopush on;
	access_log off;
	keepalive_requests 100000;
	${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}
	${blocks}
}
${process.getuid?.() === 0 ? "user root;" : ""}
`;
}
