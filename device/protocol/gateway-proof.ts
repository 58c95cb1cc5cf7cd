/**
 * Authentication of discovery by multicast DNS, where anyone in the network can answer. Device and gateway prove that they
 * know the device's token without sending it. A proof is half of an HMAC-SHA-256 (RFC 2104, 5), in hex, keyed by the token.
 *
 * The device queries PTR records of `<nonce>.<deviceId>.<proof of questionText>._sub._device-gateway._tcp.local`, a subtype
 * (RFC 6763, 7.1). Only a gateway that knows the token answers. Its TXT record has the `address` to connect to, in the form
 * of the setting `gateway`, and the `proof` of answerText.
 */

/** Service type and domain (RFC 6763, 4.1). */
export const gatewayService = "_device-gateway._tcp.local";
export const proofCharacters = 32;

export function questionText(nonce: string, deviceId: string): string {
	return `gateway question ${nonce} ${deviceId}`;
}

/** Includes the address, so that nobody can reuse the proof with another one. */
export function answerText(nonce: string, deviceId: string, address: string): string {
	return `gateway answer ${nonce} ${deviceId} ${address}`;
}
