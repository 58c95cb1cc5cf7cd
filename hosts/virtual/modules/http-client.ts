/**
 * Implementation of `embedded:network/http/client` that reproduces the SDK's behavior for tests: no timeouts, errors without a reason,
 * header names in lower case, an error for a body without a length, an exception in the socket's callback for a malformed status line,
 * no requests within onDone, no cancellation of a DNS lookup. Like hosts/moddable's client, it rejects chunked bodies.
 */

import Timer from "timer";
import type {
	HttpClientOptions,
	HttpRequest,
	HttpRequestOptions,
	HttpClient as Interface,
} from "../../../device/host.js";

/** Socket used by HttpClient. */
export interface HttpSocket {
	/** Reads up to and including a line feed, or all available bytes. @returns one character per byte */
	readLine(): string;
	read(buffer: Uint8Array): number;
	write(text: string): void;
	close(): void;
}
export interface HttpSocketOptions {
	address: string;
	port: number;
	host: string;
	onReadable: (byteCount: number) => void;
	onWritable: (byteCount: number) => void;
	onError: () => void;
}

type State = "connecting" | "idle" | "status" | "headers" | "body" | "over";

export class HttpClient implements Interface {
	readonly #options: HttpClientOptions;
	readonly #requests: HttpRequestOptions[] = [];
	#socket: HttpSocket | undefined;
	#current: HttpRequestOptions | undefined;
	#state: State = "connecting";
	#isInDone = false;
	#timer: Timer | undefined;

	#readable = 0;
	#line = "";
	#status = 0;
	#headers = new Map<string, string>();
	/** Unread bytes of the body. */
	#remaining = 0;

	constructor(options: HttpClientOptions, connect: (options: HttpSocketOptions) => HttpSocket) {
		this.#options = options;
		const { port, dns } = options;
		new dns.io(dns).resolve({
			host: options.host,
			onResolved: (host, address) => {
				this.#socket = connect({
					address,
					host,
					port,
					onReadable: (byteCount) => this.#onReadable(byteCount),
					onWritable: () => {
						if (this.#state !== "connecting") return;
						this.#state = "idle";
						this.#next();
					},
					onError: () => this.#fail(),
				});
			},
			onError: () => this.#fail(),
		});
	}

	request(options: HttpRequestOptions): HttpRequest {
		if (this.#isInDone) throw new Error("a request within onDone would be lost");
		this.#requests.push(options);
		if (this.#state === "idle") this.#timer = Timer.set(() => this.#next());
		return { read: (buffer) => this.#readBody(buffer) };
	}

	close(): void {
		this.#state = "over";
		this.#socket?.close();
		this.#socket = undefined;
		this.#current = undefined;
		this.#requests.length = 0;
		Timer.clear(this.#timer);
	}

	#next(): void {
		this.#current = this.#requests.shift();
		if (!this.#current) return;
		let text = `GET ${this.#current.path} HTTP/1.1\r\nhost: ${this.#options.host}\r\n`;
		for (const [name, value] of this.#current.headers) text += `${name}: ${value}\r\n`;
		this.#state = "status";
		this.#line = "";
		this.#socket?.write(`${text}\r\n`);
	}

	#onReadable(byteCount: number): void {
		this.#readable = byteCount;
		while (this.#readable > 0) {
			if (this.#state === "body") {
				const count = Math.min(this.#readable, this.#remaining);
				return this.#current?.onReadable(count);
			}
			if (!this.#hasLine()) return;
			this.#onLine(this.#line.slice(0, -2));
			this.#line = "";
			if (this.#state === "over") return;
		}
	}

	/** Reads a line. @returns whether it is complete */
	#hasLine(): boolean {
		while (this.#readable > 0 && this.#socket) {
			const text = this.#socket.readLine();
			this.#readable -= text.length;
			this.#line += text;
			if (text.endsWith("\n")) return this.#line.endsWith("\r\n");
		}
		return false;
	}

	#onLine(line: string): void {
		if (this.#state !== "headers") this.#onStatus(line);
		else if (line === "") this.#onHeaders();
		else this.#onField(line);
	}

	#onStatus(line: string): void {
		const [, status = "", reason] = line.split(" ");
		if (this.#state !== "status" || reason === undefined) throw new Error();
		this.#status = Number.parseInt(status, 10);
		this.#headers = new Map();
		// Without a length the body ends with the connection, which is an error.
		this.#remaining = Number.POSITIVE_INFINITY;
		this.#state = "headers";
	}

	#onField(line: string): void {
		const colon = line.indexOf(":");
		const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
		const value = line.slice(colon + 1).trim();
		if (name === "content-length") this.#remaining = Number.parseInt(value, 10);
		if (this.#current?.headersMask.includes(name)) this.#headers.set(name, value);
	}

	#onHeaders(): void {
		this.#state = "body";
		this.#current?.onHeaders(this.#status, this.#headers);
		if (this.#headers.has("transfer-encoding") && this.#socket)
			throw new Error("chunked response bodies are not supported");
	}

	#readBody(buffer: Uint8Array): number | undefined {
		if (this.#state !== "body" || !this.#socket) return undefined;
		const available = Math.min(this.#readable, this.#remaining);
		const target = buffer.byteLength > available ? buffer.subarray(0, available) : buffer;
		this.#readable -= target.byteLength;
		this.#remaining -= target.byteLength;
		const result = this.#socket.read(target);
		if (this.#remaining > 0) return result;
		this.#state = "idle";
		this.#timer = Timer.set(() => this.#done());
		return result;
	}

	#done(): void {
		const current = this.#current;
		this.#timer = undefined;
		this.#state = "idle";
		this.#isInDone = true;
		current?.onDone(null);
		this.#isInDone = false;
		if (this.#socket) this.#next();
	}

	#fail(): void {
		// The body is complete, but onDone has not been called.
		if (this.#state === "idle" && this.#timer && this.#current) {
			Timer.clear(this.#timer);
			this.#done();
		}
		if (this.#state === "over") return;
		this.#state = "over";
		const waiting = this.#current ? [this.#current, ...this.#requests] : [...this.#requests];
		this.#current = undefined;
		for (const request of waiting) request.onDone(new Error());
		this.#options.onError();
		this.close();
	}
}
