/**
 * TLS session that replaces the SDK's (manifest.json). The SDK's is established even after an alert, which would send the request with
 * its token unencrypted, and reads later records in a timer, where an exception restarts the board; here it ends the connection.
 */

import { messageOf } from "message-of";
import SSLSession, { type SessionSocket } from "sdk/ssl/session";
import { ChainCertificates } from "tls/chain";
import { ServerFlight } from "tls/server-flight";

export interface SessionOptions {
	/** Authority in DER; undefined for the compiled-in ones. */
	readonly certificate?: ArrayBuffer | Uint8Array;
	/** See device/host.ts. */
	readonly onUntrusted?: ((reason: string) => void) | undefined;
}

export default class Session extends SSLSession {
	readonly #onUntrusted: SessionOptions["onUntrusted"];
	readonly #flight = new ServerFlight();
	#isEstablished = false;
	#isRejected = false;

	/** Does not pass the authority to the SDK, which would throw an uncaught exception if it is expired or not yet valid. */
	constructor({ certificate, onUntrusted, ...options }: SessionOptions) {
		super(options);
		this.#onUntrusted = onUntrusted;
		this.certificateManager = new ChainCertificates(this.options, certificate && new Uint8Array(certificate));
	}

	override handshake(socket: SessionSocket): boolean | undefined {
		return this.#rejectOnError(() => {
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
		if (!this.#isEstablished) return this.#rejectOnError(() => super.read(socket));
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

	#rejectOnError<Result>(step: () => Result): Result {
		if (this.#isRejected) throw new Error("TLS: connection already rejected");
		try {
			return step();
		} catch (error) {
			this.#isRejected = true;
			this.#onUntrusted?.(messageOf(error));
			throw error;
		}
	}
}
