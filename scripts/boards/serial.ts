/**
 * Serial port of a board as text lines, on Linux and macOS. `stty` configures it and Node reads it as a terminal, without native
 * packages. A port that is missing while its board restarts is awaited.
 */

import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { ReadStream } from "node:tty";

/** Console baud rate of the SDK and ESP-IDF; ignored by the native USB port. */
const bitsPerSecond = 115_200;
/** Retry interval for a missing port. */
const retryMs = 200;

export interface SerialPortOptions {
	/** For example `/dev/ttyACM0`. */
	readonly path: string;
	/** Called with each line without its line end. It may contain control characters: see printable(). */
	readonly onLine: (line: string) => void;
}

export class SerialPort {
	readonly #options: SerialPortOptions;
	#stream: ReadStream | undefined;
	#retry: NodeJS.Timeout | undefined;
	#isClosed = false;

	/** @throws Error if the port exists but cannot be opened */
	constructor(options: SerialPortOptions) {
		this.#options = options;
		if (existsSync(options.path)) this.#open();
		else this.#reopen();
	}

	/** Whether the port is present; it disappears while its board restarts over USB. */
	get isOpen(): boolean {
		return this.#stream !== undefined;
	}

	/** Writes a line, which is lost while the port is missing. @param line text without line end */
	write(line: string): void {
		// Node buffers the rest of a long line until the port accepts more.
		this.#stream?.write(`${line}\n`);
	}

	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#retry);
		this.#stream?.destroy();
	}

	#open(): void {
		const { path, onLine } = this.#options;
		// Without O_NONBLOCK the call would wait for a carrier signal.
		const fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
		try {
			setUp(fd, path);
			this.#stream = new ReadStream(fd);
		} catch (error) {
			closeSync(fd);
			throw error;
		}
		this.#stream
			// Followed by "close", like the end.
			.on("error", () => {})
			.on("close", () => this.#reopen());
		createInterface({ input: this.#stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
			if (!this.#isClosed) onLine(line);
		});
	}

	#reopen(): void {
		this.#stream = undefined;
		if (this.#isClosed) return;
		this.#retry = setTimeout(() => {
			try {
				this.#open();
			} catch {
				// Still missing.
				this.#reopen();
			}
		}, retryMs);
	}
}

/** Configures the port. @throws Error if it is not a serial port */
function setUp(fd: number, path: string): void {
	// -hupcl keeps the board from restarting when the port is closed.
	const words = [String(bitsPerSecond), "raw", "-echo", "-hupcl", "clocal"];
	const { error, status, stderr } = spawnSync("stty", words, {
		stdio: [fd, "ignore", "pipe"],
		encoding: "utf8",
	});
	if (error) throw new Error(`${path} cannot be configured: stty not found.`);
	if (status !== 0) throw new Error(`${path} cannot be configured as a serial port: ${stderr.trim()}`);
}
