/**
 * Replaces the SDK's TLS session (manifest.json), which is established after an alert too: the request with its token
 * would be sent unencrypted. It also reads later records in a timer, where an exception restarts the board; here such
 * a record ends the connection.
 */

import SSLSession, { type SessionSocket } from "sdk/ssl/session";
import { ChainCertificates } from "tls/chain";
import { ServerFlight } from "tls/server-flight";

export interface SessionOptions {
	/** The authority as DER; undefined: those compiled in. */
	readonly certificate?: ArrayBuffer | Uint8Array;
	/** As in device/host.ts. */
	readonly onUntrusted?: ((reason: string) => void) | undefined;
}

export default class Session extends SSLSession {
	readonly #onUntrusted: SessionOptions["onUntrusted"];
	readonly #flight = new ServerFlight();
	#isEstablished = false;
	#isRejected = false;

	/** The SDK does not get the authority: it throws here, uncaught, for one that is not valid at present. */
	constructor({ certificate, onUntrusted, ...options }: SessionOptions) {
		super(options);
		this.#onUntrusted = onUntrusted;
		this.certificateManager = new ChainCertificates(this.options, certificate && new Uint8Array(certificate));
	}

	override handshake(socket: SessionSocket): boolean | undefined {
		return this.#orRefuse(() => {
			if (!super.handshake(socket)) return false;
			if (this.alert)
				throw new Error(`TLS: alert ${this.alert.description} before the connection was established`);
			if (!this.#flight.isWhole || !this.clientCipher || !this.serverCipher)
				throw new Error("TLS: the handshake ended without keys");
			this.#isEstablished = true;
			return true;
		});
	}

	override read(socket: SessionSocket): Uint8Array | null | undefined {
		if (!this.#isEstablished) return this.#orRefuse(() => super.read(socket));
		try {
			return super.read(socket);
		} catch (error) {
			trace(`TLS: ${error}\n`);
			return null;
		}
	}

	override readPacket(socket: SessionSocket): ArrayBuffer | undefined {
		const record = super.readPacket(socket);
		if (record && !this.serverCipher) this.#flight.check(new Uint8Array(record), this.clientCipher !== null);
		return record;
	}

	#orRefuse<Result>(step: () => Result): Result {
		if (this.#isRejected) throw new Error("TLS: refused");
		try {
			return step();
		} catch (error) {
			this.#isRejected = true;
			this.#onUntrusted?.(error instanceof Error ? error.message : String(error));
			throw error;
		}
	}
}
