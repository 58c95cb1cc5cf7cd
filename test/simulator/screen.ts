/** Virtual screen (Xvfb) with readable pixels, a mouse and a keyboard. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nextEvent } from "../support/eventually.js";
import { pathOf } from "../support/programs.js";

/** Channels, 0 to 255 each. */
export type Color = readonly [red: number, green: number, blue: number];

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

	/** Takes a screenshot. */
	capture(): Picture {
		return new Picture(readFileSync(join(this.#folder, "Xvfb_screen0")));
	}

	async close(): Promise<void> {
		await end(this.#server);
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

/** X window dump (X11/XWDFile.h): a header of big-endian 32-bit words, a color map, then the pixels. */
export class Picture {
	readonly width: number;
	readonly height: number;
	readonly #bytes: Buffer;
	readonly #pixels: number;
	readonly #stride: number;

	/** @throws Error unless the pixels are 32 bits wide, blue first */
	constructor(dump: Buffer) {
		const word = (index: number) => dump.readUInt32BE(index * 4);
		const [headerSize, width, height] = [word(0), word(4), word(5)];
		const [byteOrder, bitsPerPixel, stride, redMask, colors] = [
			word(7),
			word(11),
			word(12),
			word(14),
			word(19),
		];
		if (byteOrder !== 0 || bitsPerPixel !== 32 || redMask !== 0xff0000)
			throw new Error(`pixels of ${bitsPerPixel} bits, byte order ${byteOrder}, red mask ${redMask}`);
		this.#bytes = dump;
		this.width = width;
		this.height = height;
		this.#pixels = headerSize + colors * 12;
		this.#stride = stride;
	}

	colorAt(x: number, y: number): Color {
		const offset = this.#pixels + y * this.#stride + x * 4;
		const [blue = 0, green = 0, red = 0] = this.#bytes.subarray(offset, offset + 3);
		return [red, green, blue];
	}
}

/** Ends a process by its id and waits for its exit. */
export async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill();
	await exited;
}
