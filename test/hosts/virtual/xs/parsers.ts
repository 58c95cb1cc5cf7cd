/**
 * Device parsers for received data in XS. Each text from Node passes through a gateway connection and the command
 * check, and the result is sent back.
 */

import Channel from "virtual/channel";
import { Commands } from "../../../../device/commands.js";
import type { WebSocketClientOptions } from "../../../../device/host.js";
import { GatewaySocket } from "../../../../device/network/gateway-socket.js";
import { type Model, models } from "../../../../device/protocol/schema.js";

/** Opens a connection whose gateway is the test. */
class Wire {
	readonly socket: GatewaySocket;
	#options: WebSocketClientOptions | undefined;
	#unread = new Uint8Array(0);

	constructor(
		model: Model,
		report: (what: string, detail?: unknown, payload?: ArrayBuffer | Uint8Array) => void,
	) {
		const open = (options: WebSocketClientOptions) => {
			this.#options = options;
		};
		const read = (byteCount: number) => this.#read(byteCount);
		this.socket = new GatewaySocket({
			part: class {
				constructor(options: WebSocketClientOptions) {
					open(options);
				}
				write(
					payload: ArrayBuffer | Uint8Array,
					{ more = false, opcode }: { more?: boolean; opcode?: number },
				) {
					if (opcode === undefined) report("said", more, payload);
					return 5000;
				}
				read(byteCount: number) {
					return read(byteCount);
				}
				close() {}
			},
			certificate: undefined,
			dns: class {
				resolve() {}
			},
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
		this.#options?.onWritable(5000);
	}

	/** Sends a text frame in chunks of `pieceBytes`. */
	hear(bytes: ArrayBuffer, pieceBytes: number): void {
		let at = 0;
		do {
			const piece = new Uint8Array(bytes, at, Math.min(pieceBytes, bytes.byteLength - at));
			at += piece.byteLength;
			this.#unread = piece;
			this.#options?.onReadable(piece.byteLength, { more: at < bytes.byteLength, binary: false });
		} while (at < bytes.byteLength);
	}

	#read(byteCount: number): ArrayBuffer {
		return this.#unread.slice(0, byteCount).buffer;
	}
}

export default function main(): void {
	const channel = new Channel("parsers", {}, (name, detail, payload) => {
		const bytes = payload?.slice().buffer ?? new ArrayBuffer(0);
		const model = models.find((candidate) => candidate === name);
		if (!model) throw new Error(`unknown model ${name}`);
		const wire = new Wire(model, (what, detail, said) => channel.post(what, detail, said));
		wire.hear(bytes, Number(detail));
		wire.socket.close();
		channel.post("answer");
	});
}
