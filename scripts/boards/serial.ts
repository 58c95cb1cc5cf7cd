/**
 * A board's serial port, as text lines, on Linux and macOS. `stty` sets it up and Node reads it as a terminal, so no package with native
 * code is needed; resetting a board is esptool's work. A port that goes away while its board restarts is opened again.
 */

import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout } from "node:timers/promises";
import { ReadStream } from "node:tty";

/** The SDK's and ESP-IDF's rate for a console; the chip's own USB port ignores it. */
const bitsPerSecond = 115_200;
/** Between two attempts to open a port that is away. */
const retryMs = 200;
/** A board that prints no end of line cannot fill the memory. */
const longestLine = 4096;

export interface SerialPortOptions {
	/** Such as `/dev/ttyACM0`. */
	readonly path: string;
	/** Without its end of line; as it came, so it may hold control characters: see printable(). */
	readonly onLine: (line: string) => void;
	/** Waits for a port that is not there yet. Default: false. */
	readonly isAwaited?: boolean;
}

export class SerialPort {
	readonly #options: SerialPortOptions;
	#stream: ReadStream | undefined;
	#rest = "";
	#isClosed = false;

	private constructor(options: SerialPortOptions) {
		this.#options = options;
	}

	/** @throws Error if this system has no such port, or the port cannot be opened; the message says what to do */
	static open(options: SerialPortOptions): SerialPort {
		if (process.platform === "win32")
			throw new Error(
				"A serial port can be read here on Linux and macOS only; on Windows use idf.py monitor.",
			);
		const port = new SerialPort(options);
		if (options.isAwaited && !existsSync(options.path)) void port.#reopen();
		else port.#open();
		return port;
	}

	/** The port is away while its board restarts by USB. */
	get isOpen(): boolean {
		return this.#stream !== undefined;
	}

	/** What is written while the port is away is lost. @param line without its end of line */
	write(line: string): void {
		// Node writes the rest of a long line once the port takes more.
		this.#stream?.write(`${line}\n`);
	}

	close(): void {
		this.#isClosed = true;
		this.#release();
	}

	#open(): void {
		const { path } = this.#options;
		// Without O_NONBLOCK the call would wait for a carrier.
		const fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
		try {
			setUp(fd, path);
			this.#stream = new ReadStream(fd);
		} catch (error) {
			closeSync(fd);
			throw error;
		}
		const decoder = new StringDecoder("utf8");
		this.#stream
			.on("data", (bytes) => this.#splitLines(decoder.write(bytes)))
			.on("error", () => this.#onLost())
			.on("end", () => this.#onLost());
	}

	#splitLines(text: string): void {
		const lines = (this.#rest + text).split(/\r*\n/);
		this.#rest = (lines.pop() ?? "").slice(-longestLine);
		for (const line of lines) if (!this.#isClosed) this.#options.onLine(line);
	}

	#onLost(): void {
		if (this.#stream === undefined) return;
		this.#release();
		void this.#reopen();
	}

	async #reopen(): Promise<void> {
		while (!this.#isClosed) {
			await setTimeout(retryMs);
			if (this.#isClosed) return;
			try {
				return this.#open();
			} catch {
				// Not back yet.
			}
		}
	}

	#release(): void {
		// Closes the descriptor.
		this.#stream?.destroy();
		this.#stream = undefined;
		this.#rest = "";
	}
}

/** @throws Error if it is no serial port */
function setUp(fd: number, path: string): void {
	// -hupcl: a board must not restart when the port is closed.
	const words = [String(bitsPerSecond), "raw", "-echo", "-hupcl", "clocal"];
	const { error, status, stderr } = spawnSync("stty", words, {
		stdio: [fd, "ignore", "pipe"],
		encoding: "utf8",
	});
	if (error) throw new Error(`${path} cannot be set up: stty was not found.`);
	if (status !== 0) throw new Error(`${path} cannot be set up as a serial port: ${stderr.trim()}`);
}
