/** WebSocket connections through `ws`. */

import { WebSocket } from "ws";
import type { Peripherals } from "../../peripherals.js";
import type { Opened, Simulated } from "./hardware.js";
import { trustOf, untrustedReason } from "./tcp.js";

/** RFC 6455, section 5.2. */
const opcode = { close: 8, ping: 9, pong: 10 };

export class WebSocketClient implements Simulated<"websocket"> {
	readonly #channel: Opened<"websocket">;
	readonly #socket: WebSocket;
	#isCloseSent = false;
	#hasPeerClosed = false;
	#failure: string | undefined;

	constructor(channel: Opened<"websocket">) {
		this.#channel = channel;
		this.#socket = connect(channel.options);
		this.#socket.on("upgrade", ({ headers: { date } }) => date !== undefined && channel.send("date", date));
		this.#socket.on("open", () => channel.send("open"));
		this.#socket.on("message", (data: Buffer, isBinary) =>
			channel.send("message", isBinary ? "binary" : "text", data),
		);
		this.#socket.on("ping", (data) => channel.send("control", opcode.ping, data));
		this.#socket.on("pong", (data) => channel.send("control", opcode.pong, data));
		this.#socket.on("unexpected-response", (_request, { statusCode = 0, headers }) => {
			const retryAfter = headers["retry-after"];
			const isSeconds = retryAfter !== undefined && /^\d{1,9}$/.test(retryAfter);
			channel.send("rejected", {
				status: statusCode,
				...(isSeconds && { retryAfterSeconds: Number(retryAfter) }),
			});
			this.#socket.terminate();
		});
		// "error" is always followed by "close".
		this.#socket.on("error", (error) => {
			const reason = untrustedReason(error);
			if (reason !== undefined) channel.send("untrusted", reason);
			this.#failure = error.message;
		});
		this.#socket.on("close", (code, reason) => this.#onEnd(code, reason));
	}

	write(
		{ binary = true, more = false, opcode: kind }: { binary?: boolean; more?: boolean; opcode?: number },
		payload: Uint8Array,
	): void {
		const bytes = Buffer.from(payload);
		const sent = () => this.#channel.send("sent", bytes.length);
		if (kind === opcode.ping) return this.#socket.ping(bytes, true, sent);
		if (kind === opcode.close) {
			this.#isCloseSent = true;
			return this.#socket.close(bytes.readUInt16BE(0));
		}
		return this.#socket.send(bytes, { binary, fin: !more }, sent);
	}

	onClose(): void {
		// Lets a close frame in flight be sent, like a TCP stack.
		if (!this.#isCloseSent && !this.#hasPeerClosed) this.#socket.terminate();
	}

	#onEnd(code: number, reason: Buffer): void {
		this.#hasPeerClosed = true;
		// Codes that are never sent: 1005 is a close frame without a code, 1006 a close without a frame.
		if (code === 1006) {
			this.#channel.send("error", this.#failure ?? null);
			return;
		}
		const bytes = code === 1005 ? Buffer.alloc(0) : Buffer.from([code >> 8, code & 0xff, ...reason]);
		this.#channel.send("control", opcode.close, bytes);
		this.#channel.send("close");
	}
}

function connect({
	secure,
	host,
	address,
	port,
	path,
	headers,
}: Peripherals["websocket"]["options"]): WebSocket {
	const url = new URL(`${secure ? "wss" : "ws"}://${host}${path}`);
	url.port = String(port);
	return new WebSocket(url, {
		headers: Object.fromEntries(headers),
		perMessageDeflate: false,
		// The firmware has resolved the name, which is still needed to check the certificate.
		lookup: (_name, { all }, found) =>
			all ? found(null, [{ address, family: 4 }]) : found(null, address, 4),
		...(secure && trustOf(secure)),
	});
}
