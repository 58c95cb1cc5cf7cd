/**
 * Serial port of a board as text lines, on Linux and macOS. `stty` configures it and Node reads it as a terminal, without native
 * packages. A port that is missing while its board restarts is awaited.
 */

import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout } from "node:timers/promises";
import { ReadStream } from "node:tty";

/** Console baud rate of the SDK and ESP-IDF; ignored by the native USB port. */
const bitsPerSecond = 115_200;
/** Retry interval for a missing port. */
const retryMs = 200;
/** Maximum length of a line, which bounds memory without line ends. */
const longestLine = 4096;

export interface SerialPortOptions {
	/** For example `/dev/ttyACM0`. */
	readonly path: string;
	/** Called with each line without its line end. It may contain control characters: see printable(). */
	readonly onLine: (line: string) => void;
}

export class SerialPort {
	readonly #options: SerialPortOptions;
	#stream: ReadStream | undefined;
	#rest = "";
	#isClosed = false;

	private constructor(options: SerialPortOptions) {
		this.#options = options;
	}

	/** @throws Error if the port exists but cannot be opened */
	static open(options: SerialPortOptions): SerialPort {
		const port = new SerialPort(options);
		if (existsSync(options.path)) port.#open();
		else void port.#reopen();
		return port;
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
		this.#release();
	}

	#open(): void {
		const { path } = this.#options;
		// Without O_NONBLOCK the call would wait for a carrier signal.
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
				// Still missing.
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
