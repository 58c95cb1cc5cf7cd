/**
 * How a device finds its gateway by multicast DNS, where anyone in the network can answer: both prove that they know the device's token,
 * which does not leave the device. A proof is half of an HMAC-SHA-256 (RFC 2104, 5), in hex, with the token as the key.
 *
 * The device asks for PTR records of `<nonce>.<deviceId>.<proof of the question>._sub._device-gateway._tcp.local`, a subtype (RFC 6763, 7.1).
 * Only a gateway that knows the token answers: in the TXT record, `address` is where the device can connect, in the form of its setting
 * `gateway`, and `proof` the proof of that.
 */

/** Of the service and its domain (RFC 6763, 4.1). */
export const gatewayService = "_device-gateway._tcp.local";
export const proofCharacters = 32;

export function questionText(nonce: string, deviceId: string): string {
	return `gateway question ${nonce} ${deviceId}`;
}

/** With the address, so that no one can give another one with this proof. */
export function answerText(nonce: string, deviceId: string, address: string): string {
	return `gateway answer ${nonce} ${deviceId} ${address}`;
}
