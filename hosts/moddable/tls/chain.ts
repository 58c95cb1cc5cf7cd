/**
 * Verifies the certificate chain before the SDK does, which skips a certificate that is not signed by the next one, so that
 * `[own leaf, the authority's public certificate]` is accepted, and lets any certificate issue others
 * (modules/crypt/ssl/ssl_cert).
 */

import { Digest } from "crypt";
import ECDSA from "ecdsa";
import CertificateManager from "ssl/cert";
import { isEcdsaSignature } from "tls/ecdsa-signature";
import X509, { type DecodedCertificate, type PublicKey } from "x509";

/** RFC 5280, 4.2.1.9. */
const basicConstraints = Object.freeze([2, 5, 29, 19]);

/** By object identifier of the ECDSA algorithm (RFC 5758, 3.2). */
const ecdsaHashes: Readonly<Record<string, "SHA256" | "SHA384" | "SHA512">> = Object.freeze({
	"1,2,840,10045,4,3,2": "SHA256",
	"1,2,840,10045,4,3,3": "SHA384",
	"1,2,840,10045,4,3,4": "SHA512",
});

export class ChainCertificates extends CertificateManager {
	/** @throws Error that says what to change */
	override verify(chain: readonly Uint8Array[], options: object): boolean {
		for (const [index, certificate] of chain.entries()) {
			const issuer = chain[index + 1];
			if (!issuer) break;
			if (!this._verify(X509.decodeSPKI(issuer), X509.decode(certificate)))
				throw new Error(
					`TLS: the server's certificate ${index + 1} is not signed by the next one; it has to send its own, followed by those of its authorities in order`,
				);
			if (!mayIssue(issuer))
				throw new Error(
					`TLS: the server's certificate ${index + 2} is no authority's; it lacks the basic constraint CA:TRUE`,
				);
		}
		if (!super.verify(chain, options))
			throw new Error(
				"TLS: the server's certificates do not lead to the authority that was given (ca=…, cert_pem), are for another name, or have expired; it has to send its authority's certificate too",
			);
		return true;
	}

	/** The SDK drops leading zeros of an ECDSA signature's numbers, and so refuses one in 128. */
	override _verify(key: PublicKey, certificate: DecodedCertificate): boolean {
		const hash = ecdsaHashes[certificate.algo.toString()];
		if (hash === undefined || !key.curve) return super._verify(key, certificate);
		if (!isEcdsaSignature(certificate.sig, key.curve.n)) return false;
		const digest = new Digest(hash);
		digest.write(certificate.tbs);
		return new ECDSA(key.pub, key.curve).verify(digest.close(), certificate.sig, true);
	}
}

/** `SEQUENCE { BOOLEAN TRUE, … }` */
function mayIssue(certificate: Uint8Array): boolean {
	const constraints = X509.decodeExtension(certificate, basicConstraints);
	if (!constraints) return false;
	const [sequence, , boolean, length, isAuthority] = new Uint8Array(constraints);
	return sequence === 0x30 && boolean === 1 && length === 1 && isAuthority === 0xff;
}
