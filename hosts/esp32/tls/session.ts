/**
 * The SDK's TLS session, in the SDK's place (manifest.json). Where several records came at once, the SDK's TLS socket reads
 * all but the first from a timer, and an exception in a timer restarts the board: one lost segment in the middle of an
 * update would do. So once the connection is established, a record that does not decrypt is told as the SDK tells a peer
 * that closes. Before that the exception has to go on: it arises in the socket's own callbacks, where SafeTCP catches it.
 */

import SSLSession, { type SessionSocket } from "sdk/ssl/session";

export default class Session extends SSLSession {
	#isEstablished = false;

	override handshake(socket: SessionSocket): boolean | undefined {
		const isEstablished = super.handshake(socket);
		if (isEstablished) this.#isEstablished = true;
		return isEstablished;
	}

	override read(socket: SessionSocket): Uint8Array | null | undefined {
		try {
			return super.read(socket);
		} catch (error) {
			if (!this.#isEstablished) throw error;
			trace(`TLS: ${error}\n`);
			return null;
		}
	}
}
