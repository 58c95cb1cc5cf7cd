/** Network path between access point and gateway, shown on the panel, which can block it while Wi-Fi works. */

import type { PanelOptions } from "simulator/panel";
import Timer from "timer";
import type { Socket, SocketOptions, SocketPart } from "../../../device/host.js";

/** @returns sockets over another kind of sockets, on this path */
export function createGatewayPath({ panel, boot }: PanelOptions): (part: SocketPart) => SocketPart {
	let isCut = boot.isGatewayCut;
	let onCut = () => {};
	panel.listen(({ isGatewayCut }) => {
		if (isGatewayCut === undefined) return;
		isCut = isGatewayCut;
		if (isCut) onCut();
	});
	return (part) =>
		class implements Socket {
			readonly #socket: Socket | undefined;

			constructor(options: SocketOptions) {
				const { onWritable, onError } = options;
				let isOpen = false;
				const fail = () => {
					panel.post({ gateway: "offline" });
					onError();
				};
				// Deferred, because the caller does not have this object yet.
				if (isCut) Timer.set(fail);
				else
					this.#socket = new part({
						...options,
						onWritable(byteCount) {
							if (!isOpen) panel.post({ gateway: "connected" });
							isOpen = true;
							onWritable(byteCount);
						},
						onError: fail,
					});
				onCut = fail;
				panel.post({ gateway: "connecting" });
			}

			read(buffer: Uint8Array): unknown {
				return this.#socket?.read(buffer);
			}

			write(bytes: Uint8Array): number {
				return this.#socket?.write(bytes) ?? 0;
			}

			close(): void {
				onCut = () => {};
				panel.post({ gateway: "offline" });
				this.#socket?.close();
			}
		};
}
