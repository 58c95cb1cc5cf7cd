/** WebSocket client of the SDK that reports state and messages to the panel. The panel can block the gateway while Wi-Fi works. */

import WebSocketClient from "embedded:network/websocket/client";
import { FormatRestoringSocket, type Socket, type SocketOptions } from "moddable/format-restoring-socket";
import type { Log } from "simulator/log";
import type { Boot, Panel } from "simulator/panel";
import Timer from "timer";
import type {
	WebSocketClient as Interface,
	Part,
	ResolveOptions,
	Resolver,
	TrustOptions,
	WebSocketClientOptions,
} from "../../../device/host.js";

export interface WebSocketOptions {
	readonly panel: Panel;
	readonly log: Log;
	readonly path: GatewayPath;
	/** Creates the socket of the client. */
	readonly below: (options: SocketOptions, trust: TrustOptions) => Socket;
}

/** Network path between access point and gateway. */
export class GatewayPath {
	isCut: boolean;
	onCut: () => void = () => {};

	constructor({ panel, boot }: { readonly panel: Panel; readonly boot: Boot }) {
		this.isCut = boot.isGatewayCut;
		panel.listen(({ isGatewayCut }) => {
			if (isGatewayCut === undefined) return;
			this.isCut = isGatewayCut;
			if (isGatewayCut) this.onCut();
		});
	}
}

export function webSocketOver({
	panel,
	log,
	path,
	below,
}: WebSocketOptions): Part<WebSocketClientOptions & Partial<TrustOptions>, Interface> {
	return class implements Interface {
		readonly #client: WebSocketClient;
		readonly #incoming = new Fragments();
		readonly #outgoing = new Fragments();
		/** Whether another fragment follows the next one. */
		#hasMore = false;

		constructor({ certificate, onUntrusted, ...options }: WebSocketClientOptions & Partial<TrustOptions>) {
			const { onReadable, onWritable, onDate, onRejected, onClose, onError } = options;
			const fail = () => {
				panel.post({ gateway: "offline" });
				onError();
			};
			const socket = {
				io: FormatRestoringSocket,
				below: (socketOptions: SocketOptions) => below(socketOptions, { certificate, onUntrusted }),
				onDate,
				onRejected,
			};
			this.#client = new WebSocketClient({
				...options,
				headers: new Map(options.headers),
				dns: path.isCut ? { io: NoRoute } : options.dns,
				socket,
				onReadable: (byteCount, fragment) => {
					this.#hasMore = fragment.more;
					onReadable(byteCount, fragment);
				},
				onWritable(byteCount) {
					panel.post({ gateway: "connected" });
					onWritable(byteCount);
				},
				onClose() {
					panel.post({ gateway: "offline" });
					onClose();
				},
				onError: fail,
			});
			path.onCut = fail;
			panel.post({ gateway: "connecting" });
		}

		read(byteCount: number): ArrayBuffer {
			const bytes = this.#client.read(byteCount);
			const text = this.#incoming.add(new Uint8Array(bytes), this.#hasMore);
			if (text !== undefined) log.received(text);
			return bytes;
		}

		write(...[payload, options]: Parameters<Interface["write"]>): number {
			const writable = this.#client.write(payload, options);
			if (options.opcode === undefined) {
				const text = this.#outgoing.add(new Uint8Array(payload), options.more ?? false);
				if (text !== undefined) log.sent(text);
			}
			return writable;
		}

		close(): void {
			path.onCut = () => {};
			panel.post({ gateway: "offline" });
			this.#client.close();
		}
	};
}

/** Joins the fragments of a text message. */
class Fragments {
	#bytes: number[] = [];

	/** @returns the whole message after its last fragment */
	add(bytes: Uint8Array, hasMore: boolean): string | undefined {
		for (const byte of bytes) this.#bytes.push(byte);
		if (hasMore) return undefined;
		const whole = Uint8Array.from(this.#bytes);
		this.#bytes = [];
		try {
			return String.fromArrayBuffer(whole.buffer);
		} catch {
			return "(not UTF-8)";
		}
	}
}

/** Resolver that fails, because the SDK's client has no option to reject to connect. */
class NoRoute implements Resolver {
	resolve({ onError }: ResolveOptions): void {
		Timer.set(() => onError());
	}
}
