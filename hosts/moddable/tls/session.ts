/**
 * Replaces the SDK's TLS session (manifest.json), whose handshake ends as established after an alert too: the request with its
 * token would be sent unencrypted. It also reads later records in a timer, where an exception restarts the board; here such a
 * record ends the connection.
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
