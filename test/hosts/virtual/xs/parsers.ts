/**
 * Device parsers for received data in XS. Each frame from Node passes through a gateway connection and the command
 * check, and the result is sent back.
 */

import Channel from "virtual/channel";
import { Commands } from "../../../../device/commands.js";
import type { SocketOptions } from "../../../../device/host.js";
import { GatewaySocket } from "../../../../device/network/gateway-socket.js";
import { type Model, models } from "../../../../device/protocol/schema.js";

const accepted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
const windowBytes = 5000;

/** Opens a connection whose gateway is the test. */
class Wire {
	readonly socket: GatewaySocket;
	#options: SocketOptions | undefined;
	#unread = new Uint8Array(0);

	constructor(
		model: Model,
		report: (what: string, detail?: unknown, payload?: ArrayBuffer | Uint8Array) => void,
	) {
		const open = (options: SocketOptions) => {
			this.#options = options;
		};
		const read = (buffer: Uint8Array) => {
			buffer.set(this.#unread.subarray(0, buffer.byteLength));
			this.#unread = this.#unread.subarray(buffer.byteLength);
		};
		this.socket = new GatewaySocket({
			part: class {
				constructor(options: SocketOptions) {
					open(options);
				}
				write(bytes: Uint8Array) {
					report("wrote", undefined, bytes);
					return windowBytes;
				}
				read(buffer: Uint8Array) {
					read(buffer);
				}
				close() {}
			},
			certificate: undefined,
			resolve: (_host, onResolved) => onResolved("192.168.1.10"),
			url: { isSecure: false, host: "gateway", port: 80, path: "/device" },
			headers: [],
			onOpen: () => {},
			onMessage: (message) => commands.receive(message),
			onDrained: () => {},
			onClosed: ({ reason }) => report("closed", reason),
		});
		const commands = new Commands({
			deviceId: "dev-1-a1b2c3",
			model,
			components: [
				{
					execute(command) {
						report("did", command);
						return "executed";
					},
				},
			],
			isSafeMode: false,
			send: (error) => this.socket.send(JSON.stringify(error)),
		});
		this.#options?.onWritable(windowBytes);
		this.receive(ArrayBuffer.fromString(accepted));
	}

	/** Receives bytes in chunks of `pieceBytes`. */
	receive(bytes: ArrayBuffer, pieceBytes = bytes.byteLength): void {
		for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
			this.#unread = new Uint8Array(bytes, at, Math.min(pieceBytes, bytes.byteLength - at));
			this.#options?.onReadable(this.#unread.byteLength);
		}
	}
}

export default function main(): void {
	const channel = new Channel("parsers", {}, (name, detail, payload) => {
		const bytes = payload?.slice().buffer ?? new ArrayBuffer(0);
		const model = models.find((candidate) => candidate === name);
		if (!model) throw new Error(`unknown model ${name}`);
		const wire = new Wire(model, (what, detail, said) => channel.post(what, detail, said));
		wire.receive(bytes, Number(detail));
		wire.socket.close();
		channel.post("answer");
	});
}
