/**
 * Validates the server's messages in a full TLS 1.2 handshake with ECDHE (RFC 5246, 7.3; RFC 8422, 5.4). The SDK accepts messages in
 * any order, unsigned keys, an early ChangeCipherSpec and unencrypted data, which would allow a man-in-the-middle attack.
 */

import { isEcdsaSignature } from "tls/ecdsa-signature";

/** Record types (RFC 5246, 6.2.1). */
const changeCipherSpec = 20;
const alert = 21;
const handshake = 22;

/** Handshake messages (RFC 5246, 7.4). */
const serverHello = 2;
const certificate = 11;
const serverKeyExchange = 12;
const certificateRequest = 13;
const serverHelloDone = 14;

/** Messages allowed after each message; 0 is the start. */
const followers: Readonly<Record<number, readonly number[]>> = Object.freeze({
	0: Object.freeze([serverHello]),
	[serverHello]: Object.freeze([certificate]),
	[certificate]: Object.freeze([serverKeyExchange]),
	[serverKeyExchange]: Object.freeze([certificateRequest, serverHelloDone]),
	[certificateRequest]: Object.freeze([serverHelloDone]),
});

export class ServerFlight {
	#last = 0;

	get isWhole(): boolean {
		return this.#last === serverHelloDone;
	}

	/**
	 * @param record record with its header
	 * @param isKeySent whether the client has switched to encryption
	 * @throws Error for a record that is not allowed at this point
	 */
	check(record: Uint8Array, isKeySent: boolean): void {
		const [type] = record;
		const content = record.subarray(5);
		if (type === handshake) this.#checkMessages(content);
		else if (type === alert)
			throw new Error(
				`TLS: the server rejected the handshake with alert ${content[1]} (RFC 5246, 7.2). Enable TLS 1.2 with ECDHE-RSA-AES128-GCM-SHA256 or ECDHE-ECDSA-AES128-GCM-SHA256 on the server.`,
			);
		else if (type !== changeCipherSpec || !this.isWhole || !isKeySent)
			throw new Error(`TLS: the server sent a record of type ${type} before the end of its handshake`);
	}

	#checkMessages(content: Uint8Array): void {
		for (let at = 0; at < content.byteLength; ) {
			const [type = 0, high = 0, middle = 0, low = 0] = content.subarray(at, at + 4);
			const end = at + 4 + ((high << 16) | (middle << 8) | low);
			if (end > content.byteLength)
				throw new Error(
					`TLS: the server split handshake message ${type} across records, which is not supported`,
				);
			if (!followers[this.#last]?.includes(type))
				throw new Error(`TLS: the server sent handshake message ${type} after ${this.#last}, out of order`);
			if (type === serverKeyExchange) checkKeyExchange(content.subarray(at + 4, end));
			this.#last = type;
			at = end;
		}
	}
}

/**
 * Checks the format: curve type, curve (2), length, public key; then hash, signature algorithm, length (2) and signature (RFC 8422,
 * 5.4). The client offers only SHA-256 with RSA or ECDSA (RFC 5246, 7.4.3). The SDK verifies the signature.
 */
function checkKeyExchange(body: Uint8Array): void {
	const signed = 4 + (body[3] ?? 0);
	const [hash, kind, high = 0, low = 0] = body.subarray(signed, signed + 4);
	const length = (high << 8) | low;
	if (hash !== 4 || (kind !== 1 && kind !== 3))
		throw new Error(
			`TLS: the server's key is signed with hash ${hash} and signature algorithm ${kind}. Only SHA-256 (4) with RSA (1) or ECDSA (3) is supported.`,
		);
	if (length === 0 || signed + 4 + length !== body.byteLength)
		throw new Error("TLS: inconsistent lengths in the server's key exchange");
	if (kind === 3 && !isEcdsaSignature(body.subarray(signed + 4)))
		throw new Error("TLS: invalid ECDSA signature format in the server's key exchange");
}
