/** Virtual screen (Xvfb) with readable pixels, a mouse and a keyboard. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nextEvent } from "../support/eventually.js";
import { pathOf } from "../support/programs.js";

export class Screen {
	/** Value of the environment variable DISPLAY. */
	readonly display: string;
	readonly #server: ChildProcess;
	readonly #folder: string;

	private constructor(display: string, server: ChildProcess, folder: string) {
		this.display = display;
		this.#server = server;
		this.#folder = folder;
	}

	static async open(): Promise<Screen> {
		const folder = mkdtempSync(join(tmpdir(), "screen-"));
		const size = ["-screen", "0", "1000x900x24"];
		const server = spawn(pathOf("Xvfb"), ["-displayfd", "3", ...size, "-nolisten", "tcp", "-fbdir", folder], {
			stdio: ["ignore", "ignore", "ignore", "pipe"],
		});
		const numbers = server.stdio[3];
		if (!numbers) throw new Error("Xvfb reported no display number");
		const [number] = await nextEvent(numbers, "data");
		return new Screen(`:${String(number).trim()}`, server, folder);
	}

	/** Operates mouse and keyboard with xdotool arguments. */
	input(...actions: readonly string[]): void {
		const { status, stderr } = spawnSync(pathOf("xdotool"), actions, {
			env: { ...process.env, DISPLAY: this.display },
			encoding: "utf8",
		});
		if (status !== 0) throw new Error(`xdotool ${actions.join(" ")}: ${stderr}`);
	}

	async close(): Promise<void> {
		await end(this.#server);
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

/** Ends a process by its id and waits for its exit. */
export async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill();
	await exited;
}
