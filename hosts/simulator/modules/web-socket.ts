/** The SDK's WebSocket client, whose state the panel shows. The panel can cut the gateway off while Wi-Fi stays. */

import WebSocketClient from "embedded:network/websocket/client";
import { FormatRestoringSocket, type Socket, type SocketOptions } from "moddable/format-restoring-socket";
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
	readonly path: GatewayPath;
	/** Makes the socket that the client uses. */
	readonly below: (options: SocketOptions, certificate: string | undefined) => Socket;
}

/** The network between the access point and the gateway. */
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
	path,
	below,
}: WebSocketOptions): Part<WebSocketClientOptions & Partial<TrustOptions>, Interface> {
	return class implements Interface {
		readonly #client: WebSocketClient;

		constructor({ certificate, ...options }: WebSocketClientOptions & Partial<TrustOptions>) {
			const { onWritable, onRefused, onClose, onError } = options;
			const fail = () => {
				panel.post({ gateway: "offline" });
				onError();
			};
			const socket = {
				io: FormatRestoringSocket,
				below: (socketOptions: SocketOptions) => below(socketOptions, certificate),
				onRefused,
			};
			this.#client = new WebSocketClient({
				...options,
				headers: new Map(options.headers),
				dns: path.isCut ? { io: NoRoute } : options.dns,
				socket,
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
			return this.#client.read(byteCount);
		}

		write(...[payload, options]: Parameters<Interface["write"]>): number {
			return this.#client.write(payload, options);
		}

		close(): void {
			path.onCut = () => {};
			panel.post({ gateway: "offline" });
			this.#client.close();
		}
	};
}

/** Fails as a refused connection does. The SDK's client cannot be told not to connect. */
class NoRoute implements Resolver {
	resolve({ onError }: ResolveOptions): void {
		Timer.set(() => onError());
	}
}
