/**
 * The SDK's TLS session, in the SDK's place (manifest.json). It says that a connection is established only when it is: the
 * SDK's handshake ends with "established" after an alert too, and the request, token and all, would go out in the clear. What
 * the server says before it encrypts is looked at first (ServerFlight), and so is its chain (ChainCertificates).
 *
 * Where several records came at once, the SDK's TLS socket reads all but the first from a timer, and an exception in a timer
 * restarts the board: one lost segment in the middle of an update would do. So once the connection is established, a record
 * that does not decrypt is told as the SDK tells a peer that closes. Before that the exception has to go on: it arises in the
 * socket's own callbacks, where they are guarded.
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

	/** What was refused once stays refused, whoever goes on reading. */
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
