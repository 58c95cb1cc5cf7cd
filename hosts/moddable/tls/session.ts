/**
 * The SDK's TLS session with stricter checks, in its place (manifest.json). The SDK's handshake ends as established after an
 * alert too, and the request with its token would be sent unencrypted. The server's handshake is checked by ServerFlight, its
 * certificates by ChainCertificates.
 *
 * The SDK's TLS socket reads later records in a timer, where an exception restarts the board. So after the handshake a record
 * that does not decrypt is reported as the end of the connection. During the handshake exceptions occur in guarded callbacks.
 */

import SSLSession, { type SessionSocket } from "sdk/ssl/session";
import { ChainCertificates } from "tls/chain";
import { ServerFlight } from "tls/server-flight";

export default class Session extends SSLSession {
	readonly #flight = new ServerFlight();
	#isEstablished = false;
	#isRefused = false;

	constructor(options: object) {
		super(options);
		this.certificateManager = new ChainCertificates(this.options);
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

	/** A refused session stays refused. */
	#orRefuse<Result>(step: () => Result): Result {
		if (this.#isRefused) throw new Error("TLS: refused");
		try {
			return step();
		} catch (error) {
			this.#isRefused = true;
			throw error;
		}
	}
}
