/** WebSocket client of the SDK that reports its state to the panel. The panel can block the gateway while Wi-Fi works. */

import WebSocketClient from "embedded:network/websocket/client";
import { FormatRestoringSocket, type Socket, type SocketOptions } from "moddable/format-restoring-socket";
import type { PanelOptions } from "simulator/panel";
import Timer from "timer";
import type { ResolveOptions, Resolver, TrustOptions, WebSocketClientOptions } from "../../../device/host.js";

interface WebSocketOptions extends Pick<PanelOptions, "panel"> {
	readonly path: GatewayPath;
	/** Creates the socket of the client. */
	readonly below: (options: SocketOptions, trust: TrustOptions) => Socket;
}

/** Network path between access point and gateway. */
export class GatewayPath {
	isCut: boolean;
	onCut: () => void = () => {};

	constructor({ panel, boot }: PanelOptions) {
		this.isCut = boot.isGatewayCut;
		panel.listen(({ isGatewayCut }) => {
			if (isGatewayCut === undefined) return;
			this.isCut = isGatewayCut;
			if (isGatewayCut) this.onCut();
		});
	}
}

export function webSocketOver({ panel, path, below }: WebSocketOptions) {
	return class extends WebSocketClient {
		constructor({ certificate, onUntrusted, ...options }: WebSocketClientOptions & Partial<TrustOptions>) {
			const { onWritable, onDate, onRejected, onClose, onError } = options;
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
			super({
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

		override close(): void {
			path.onCut = () => {};
			panel.post({ gateway: "offline" });
			super.close();
		}
	};
}

/** Resolver that fails, because the SDK's client has no option to reject to connect. */
class NoRoute implements Resolver {
	resolve({ onError }: ResolveOptions): void {
		Timer.set(() => onError());
	}
}
