/** nginx with Debian's settings for files and one worker, on a free port in its own folder. */

import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Owner, onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { freePort } from "../../support/ports.js";
import { startServer } from "../../support/server-program.js";

export class Nginx {
	readonly url: string;
	readonly #process: ChildProcess;

	private constructor(url: string, child: ChildProcess) {
		this.url = url;
		this.#process = child;
	}

	/** @param files content by name, served at `/<name>` */
	static async start(t: Owner, files: Readonly<Record<string, Buffer>>): Promise<Nginx> {
		const port = await freePort();
		return Nginx.serve(t, port, `server { listen 127.0.0.1:${port}; root www; }`, files);
	}

	/**
	 * @param blocks contents of its `http` block
	 * @param files content by name, in the folder `www`
	 */
	static async serve(
		t: Owner,
		port: number,
		blocks: string,
		files: Readonly<Record<string, string | Buffer>> = {},
	): Promise<Nginx> {
		const folder = await temporaryDirectory(t);
		// Its worker may have another user.
		await chmod(folder, 0o755);
		await mkdir(join(folder, "www"), { mode: 0o755 });
		for (const [name, content] of Object.entries(files)) await writeFile(join(folder, "www", name), content);
		await writeFile(join(folder, "nginx.conf"), configuration(folder, blocks));
		const words = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
		const program = await startServer(t, port, "nginx", ...words);
		// Its workers end only if it stops itself.
		onEnd(t, () => program.end("SIGTERM"));
		return new Nginx(`http://127.0.0.1:${port}`, program.child);
	}

	/** Processor time of all its processes so far, in microseconds. */
	cpuMicros(): number {
		const own = this.#process.pid ?? 0;
		const children = readFileSync(`/proc/${own}/task/${own}/children`, "utf8").trim().split(" ");
		return [String(own), ...children].reduce((sum, pid) => sum + cpuMicrosOf(pid), 0);
	}
}

/** First figure of schedstat: nanoseconds on a processor, including the kernel's; `stat` counts in steps of 10 ms. */
export function cpuMicrosOf(pid: string): number {
	return readdirSync(`/proc/${pid}/task`)
		.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1000)
		.reduce((sum, micros) => sum + micros, 0);
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
