/**
 * Cipher suites, in place of the SDK's list, which starts with RSA key exchange. With ECDHE only (RFC 5289, 3.2) there is a single
 * kind of handshake to check.
 */

import { AES, ECDHE_RSA, GCM, SHA256 } from "ssl/constants";

const aes128Gcm = Object.freeze({
	isExportable: false,
	// Used for both signature algorithms.
	keyExchangeAlgorithm: ECDHE_RSA,
	cipherAlgorithm: AES,
	/** All sizes are in bytes. */
	cipherKeySize: 16,
	cipherBlockSize: 16,
	hashAlgorithm: SHA256,
	hashSize: 32,
	encryptionMode: GCM,
	ivSize: 8,
	saltSize: 4,
});

export default Object.freeze([
	/** TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 */
	Object.freeze({ ...aes128Gcm, value: Object.freeze([0xc0, 0x2f]) }),
	/** TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 */
	Object.freeze({ ...aes128Gcm, value: Object.freeze([0xc0, 0x2b]) }),
]);
