/** Network clients of the SDK on the desktop's network, usable while the simulated Wi-Fi is connected. */

import TCP, { type Options as TCPOptions } from "embedded:io/socket/tcp";
import TLSSocket from "embedded:io/socket/tcp/tls";
import type { SocketOptions } from "moddable/format-restoring-socket";
import { UnchunkedHttpClient } from "moddable/unchunked-http-client";
import Net from "net";
import type { PanelOptions } from "simulator/panel";
import { GatewayPath, webSocketOver } from "simulator/web-socket";
import { Radio, SimulatedWiFi } from "simulator/wifi";
import Timer from "timer";
import type {
	Host,
	HttpClientOptions,
	ResolveOptions,
	Resolver,
	TimeQuery,
	TimeQueryOptions,
	TrustOptions,
} from "../../../device/host.js";

export function createNetwork(options: PanelOptions): Host["network"] {
	const { panel } = options;
	const radio = new Radio(options);
	const path = new GatewayPath(options);
	const tcp = (options: SocketOptions) => new RadioTCP({ ...options, radio });
	const tls = (options: SocketOptions, trust: TrustOptions) =>
		new TLSSocket({ ...options, radio, secure: securityOf(trust), TCP: { io: RadioTCP } });
	return {
		wifi: class extends SimulatedWiFi {
			constructor(options: { onChanged: (property: string) => void }) {
				super({ ...options, radio });
			}
		},
		dns: SystemResolver.bind(undefined, { radio }),
		ws: webSocketOver({ panel, path, below: tcp }),
		wss: webSocketOver({ panel, path, below: tls }),
		http: class extends UnchunkedHttpClient {
			constructor(options: HttpClientOptions) {
				super({ ...options, below: tcp });
			}
		},
		https: class extends UnchunkedHttpClient {
			constructor({ certificate, onUntrusted, ...options }: HttpClientOptions & TrustOptions) {
				super({ ...options, below: (socketOptions) => tls(socketOptions, { certificate, onUntrusted }) });
			}
		},
		time: DesktopTime,
	};
}

/** Trusts the SDK's authorities if no certificate is given. */
function securityOf({ certificate, onUntrusted }: TrustOptions) {
	const isGiven = certificate !== undefined;
	return { cache: false, onUntrusted, ...(isGiven && { certificate: Uint8Array.fromBase64(certificate) }) };
}

type RadioTCPOptions = TCPOptions & { readonly radio: Radio };

/**
 * TCP socket that is silent without Wi-Fi. Turns exceptions in callbacks into errors: the SDK's TLS throws in callbacks for a rejected
 * certificate, which would end the app.
 */
class RadioTCP extends TCP {
	readonly #radio: Radio;
	readonly #onError: () => void;
	#failure: Timer | undefined;

	constructor(options: RadioTCPOptions) {
		const { radio, onReadable, onWritable, onError } = options;
		if (!radio.isUsable) throw new Error("no network");
		const guard = (socket: TCP, action: () => void) => {
			if (!radio.isUsable) return;
			try {
				action();
			} catch (error) {
				trace(`exception in a socket callback: ${error}\n`);
				onError?.call(socket);
			}
		};
		super({
			...options,
			onReadable(byteCount) {
				guard(this, () => onReadable?.call(this, byteCount));
			},
			onWritable(byteCount) {
				guard(this, () => onWritable?.call(this, byteCount));
			},
			onError() {
				guard(this, () => onError?.call(this));
			},
		});
		this.#radio = radio;
		this.#onError = () => guard(this, () => onError?.call(this));
	}

	/** Detects failed writes, which the SDK does not report on Linux: write() returns undefined and the socket goes silent. */
	override write(value: number | ByteBuffer): unknown {
		if (!this.#radio.isUsable) return 0;
		const writable: unknown = super.write(value);
		if (writable === undefined) this.#failure ??= Timer.set(this.#onError);
		return writable;
	}

	override close(): void {
		Timer.clear(this.#failure);
		super.close();
	}
}

/** Resolver of the desktop, which also resolves local names. */
class SystemResolver implements Resolver {
	readonly #radio: Radio;

	constructor(options: { readonly radio: Radio }) {
		this.#radio = options.radio;
	}

	resolve(options: ResolveOptions): void {
		const { host, onResolved, onError } = options;
		const address = host === "localhost" ? "127.0.0.1" : host;
		if (/^\d+\.\d+\.\d+\.\d+$/.test(address)) {
			Timer.set(() => onResolved(host, address));
			return;
		}
		Net.resolve(host, (_name, found) => {
			if (found && this.#radio.isUsable) onResolved(host, found);
			else onError();
		});
	}
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
