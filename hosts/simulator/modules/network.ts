/** Sockets of the SDK on the desktop's network, usable while the simulated Wi-Fi is connected. */

import TCP, { type Options as TCPOptions } from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
import { guardCallbacks } from "moddable/socket-guard";
import Net from "net";
import { createGatewayPath } from "simulator/gateway-path";
import type { PanelOptions } from "simulator/panel";
import { Radio, SimulatedWiFi } from "simulator/wifi";
import Timer from "timer";
import type { Host, SocketOptions, TimeQuery, TimeQueryOptions } from "../../../device/host.js";

export function createNetwork(options: PanelOptions): Host["network"] {
	const radio = new Radio(options);
	const onGatewayPath = createGatewayPath(options);
	const tcp = class extends RadioTCP {
		constructor(options: SocketOptions) {
			super({ ...options, radio });
		}
	};
	const tls = class extends TLSSocket {
		/** Trusts the SDK's authorities if no certificate is given. */
		constructor({ certificate, onUntrusted, ...options }: SocketOptions) {
			const authority = certificate !== undefined && { certificate: Uint8Array.fromBase64(certificate) };
			const secure = { cache: false, onUntrusted, ...authority };
			super({ ...options, radio, secure, TCP: { io: RadioTCP } });
		}
	};
	return {
		wifi: class extends SimulatedWiFi {
			constructor(options: { onChanged: (property: string) => void }) {
				super({ ...options, radio });
			}
		},
		resolve: (host, onResolved) =>
			resolve(host, (address) => onResolved(radio.isUsable ? address : undefined)),
		ws: onGatewayPath(tcp),
		http: tcp,
		wss: onGatewayPath(tls),
		https: tls,
		time: DesktopTime,
	};
}

type RadioTCPOptions = TCPOptions & { readonly radio: Radio };

/** TCP socket that is silent without Wi-Fi. The SDK's TLS throws in its callbacks for a rejected certificate. */
class RadioTCP extends TCP {
	readonly #radio: Radio;
	readonly #onError: () => void;
	#failure: Timer | undefined;

	constructor(options: RadioTCPOptions) {
		const { radio } = options;
		if (!radio.isUsable) throw new Error("no network");
		const guarded = guardCallbacks<TCP>(options, trace);
		super({
			...options,
			onReadable(byteCount) {
				if (radio.isUsable) guarded.onReadable.call(this, byteCount);
			},
			onWritable(byteCount) {
				if (radio.isUsable) guarded.onWritable.call(this, byteCount);
			},
			onError() {
				if (radio.isUsable) guarded.onError.call(this);
			},
		});
		this.#radio = radio;
		this.#onError = () => guarded.onError.call(this);
	}

	/** Detects failed writes, which the SDK does not report on Linux: write() returns undefined and the socket goes silent. */
	override write(bytes: ByteBuffer): number {
		if (!this.#radio.isUsable) return 0;
		const writable = super.write(bytes);
		if (writable === undefined) this.#failure ??= Timer.set(this.#onError);
		return writable ?? 0;
	}

	override close(): void {
		Timer.clear(this.#failure);
		super.close();
	}
}

/** Resolves names like the desktop, including local ones. */
function resolve(host: string, onResolved: (address: string | undefined) => void): void {
	const address = host === "localhost" ? "127.0.0.1" : host;
	if (/^\d+\.\d+\.\d+\.\d+$/.test(address)) Timer.set(() => onResolved(address));
	else Net.resolve(host, (_name, found) => onResolved(found));
}

/** Time of the desktop's clock. */
class DesktopTime implements TimeQuery {
	readonly #timer: Timer;

	constructor(options: TimeQueryOptions) {
		this.#timer = Timer.set(() => options.onTime(Math.floor(Date.now() / 1000)));
	}

	close(): void {
		Timer.clear(this.#timer);
	}
}
