/** Gateway under test: a process with a real folder that is killed and started again. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Child } from "../bench/child.js";
import { bearer, monitorToken } from "../support/gateway-settings.js";
import type { DiskFault } from "./failing-disk.js";
import type { GatewayChild } from "./gateway-child.js";
import type { Journal } from "./journal.js";

const answerMs = 20_000;

/** `status` 0: the connection ended before the response. */
export interface Answer {
	readonly status: number;
	readonly text: string;
}

export class GatewayProcess {
	readonly dataDir: string;
	readonly releasesDir: string;
	/** Number of times it was ended, or paused for seconds while its memory was counted. */
	pauses = 0;
	diskFault: DiskFault | undefined;
	readonly #journal: Journal;
	readonly #logFile: string;
	#child: Child<GatewayChild> | undefined;
	#port: number | undefined;
	#clockOffsetMs = 0;
	#logRead = 0;

	/** @param folder contains its data, its releases and its log */
	constructor(folder: string, journal: Journal) {
		this.dataDir = join(folder, "data");
		this.releasesDir = join(folder, "releases");
		this.#logFile = join(folder, "gateway.log");
		this.#journal = journal;
	}

	/** undefined while it is down. */
	get port(): number | undefined {
		return this.#port;
	}

	async start(): Promise<void> {
		const log = openSync(this.#logFile, "a");
		this.#child = new Child<GatewayChild>("../torment/gateway-child.ts", {
			nodeOptions: ["--v8-pool-size=1", "--no-warnings"],
			stderr: log,
			onEnd: (why) => this.#journal.break(`the gateway exited (${why}): ${this.#lastLogLine()}`),
		});
		closeSync(log);
		const { dataDir, releasesDir } = this;
		const started = await this.#child.request("listen", {
			dataDir,
			releasesDir,
			offsetMs: this.#clockOffsetMs,
		});
		if (started.port === undefined) this.#journal.break(`the gateway did not start: ${started.rejection}`);
		this.#port = started.port;
	}

	/** Kills it like a power cut. */
	async kill(): Promise<void> {
		await this.#leave()?.kill();
	}

	/** Stops it with SIGTERM. */
	async stop(): Promise<void> {
		const child = this.#leave();
		child?.signal("SIGCONT");
		await child?.request("close");
		await child?.close();
	}

	/** Stops or continues the process. */
	freeze(isFrozen: boolean): void {
		this.#child?.signal(isFrozen ? "SIGSTOP" : "SIGCONT");
	}

	async setDisk(fault: DiskFault | undefined): Promise<void> {
		this.diskFault = fault;
		await this.#unlessKilled(this.#child?.request("disk", { fault: fault ?? null }));
	}

	/** Sets its wall clock, including that of later starts. */
	async setClock(byMs: number): Promise<void> {
		this.#clockOffsetMs += byMs;
		await this.#unlessKilled(this.#child?.request("clock", { offsetMs: this.#clockOffsetMs }));
	}

	/** Starts or ends an artificial load. */
	async load(isOn: boolean): Promise<void> {
		await this.#unlessKilled(this.#child?.request("load", { isOn }));
	}

	/** Advances its monotonic clock. */
	async pass(ms: number): Promise<void> {
		await this.#child?.request("pass", { ms });
	}

	async inUse() {
		this.pauses += 1;
		return this.#child?.request("inUse");
	}

	/**
	 * Limits the number of additional files it may open; undefined: no limit.
	 *
	 * @returns false if this computer does not support it
	 */
	limitFiles(spare: number | undefined): boolean {
		const pid = this.#child?.pid;
		if (pid === undefined) return false;
		try {
			const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
			const [, hard = ""] = /^Max open files +\d+ +(\d+)/m.exec(limits) ?? [];
			const most = spare === undefined ? hard : String(this.openFiles() + spare);
			execFileSync("prlimit", ["--pid", String(pid), `--nofile=${most}:${hard}`], { stdio: "ignore" });
			return true;
		} catch {
			return false;
		}
	}

	/** @throws {NodeJS.ErrnoException} without /proc */
	openFiles(): number {
		return readdirSync(`/proc/${this.#child?.pid}/fd`).length;
	}

	/** Lines logged since the last call. */
	newLog(): string {
		const file = openSync(this.#logFile, "r");
		const chunk = Buffer.alloc(1 << 20);
		let text = "";
		for (;;) {
			const length = readSync(file, chunk, 0, chunk.length, this.#logRead);
			if (length === 0) break;
			this.#logRead += length;
			text += chunk.toString("utf8", 0, length);
		}
		closeSync(file);
		return text;
	}

	/** Sends an HTTP request as a monitor. Never rejects. */
	async request(path: string, options: RequestInit = {}): Promise<Answer> {
		if (this.#port === undefined) return { status: 0, text: "" };
		try {
			const response = await fetch(`http://127.0.0.1:${this.#port}${path}`, {
				signal: AbortSignal.timeout(answerMs),
				...options,
				headers: bearer(monitorToken),
			});
			return { status: response.status, text: await response.text() };
		} catch {
			return { status: 0, text: "" };
		}
	}

	/** Uploads firmware as a browser does. Never rejects. */
	upload(bytes: Buffer, version: string): Promise<Answer> {
		const body = new FormData();
		body.set("firmware", new Blob([new Uint8Array(bytes)]), `${version}.bin`);
		return this.request("/ota/upload", { method: "POST", body });
	}

	/** @throws Error without a JSON response after several attempts */
	async get<T>(path: string): Promise<T> {
		for (let attempt = 0; attempt < 5; attempt += 1) {
			const { status, text } = await this.request(path);
			if (status === 200) return JSON.parse(text);
			if (status !== 0) throw new Error(`${path}: ${status} ${text}`);
			await pause(200);
		}
		throw new Error(`${path}: no answer`);
	}

	/** Stops sending requests to it. */
	#leave(): Child<GatewayChild> | undefined {
		const child = this.#child;
		this.pauses += 1;
		this.#child = undefined;
		this.#port = undefined;
		return child;
	}

	async #unlessKilled(asked: Promise<unknown> | undefined): Promise<void> {
		const child = this.#child;
		try {
			await asked;
		} catch (error) {
			if (this.#child === child) throw error;
		}
	}

	#lastLogLine(): string {
		return readFileSync(this.#logFile, "utf8").trimEnd().split("\n").at(-1) ?? "";
	}
}
