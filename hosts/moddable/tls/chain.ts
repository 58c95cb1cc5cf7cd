/**
 * Certificate chain verification that replaces the SDK's (modules/crypt/ssl/ssl_cert). The SDK accepts `[own leaf, the authority's
 * public certificate]`, lets any certificate issue others, fails for an authority without authorityKeyIdentifier (optional if
 * self-signed: RFC 5280, 4.2.1.1), and gives no reason.
 */

import { Digest } from "crypt";
import ECDSA from "ecdsa";
import CertificateManager from "ssl/cert";
import { isEcdsaSignature } from "tls/ecdsa-signature";
import { expired, tooEarly, unknownAuthority, wrongName } from "tls/reasons";
import X509, { type DecodedCertificate, type PublicKey } from "x509";

/** RFC 5280, 4.2.1.9. */
const basicConstraints = Object.freeze([2, 5, 29, 19]);

/** Hash by object identifier of the ECDSA algorithm (RFC 5758, 3.2). */
const ecdsaHashes: Readonly<Record<string, "SHA256" | "SHA384" | "SHA512">> = Object.freeze({
	"1,2,840,10045,4,3,2": "SHA256",
	"1,2,840,10045,4,3,3": "SHA384",
	"1,2,840,10045,4,3,4": "SHA512",
});

/** Tags of a subjectAltName (RFC 5280, 4.2.1.6). */
const dnsName = 2;
const ipAddress = 7;

export class ChainCertificates extends CertificateManager {
	readonly #authority: Uint8Array | undefined;

	/** @param authority authority in DER; undefined for the compiled-in ones */
	constructor(options: object, authority: Uint8Array | undefined) {
		super(options);
		this.#authority = authority;
	}

	/**
	 * @param chain certificates in order, each signed by the next one, up to one issued by the authority
	 * @throws Error that describes the problem
	 */
	override verify(
		chain: readonly Uint8Array[],
		{ tls_server_name: name }: { tls_server_name: string },
	): true {
		const [own] = chain;
		if (!own) throw new Error("TLS: the server sent no certificate");
		// Cheap checks come first: verifying a signature takes up to 1 s.
		requireName(own, name.toLowerCase());
		if (this.#authority) requireDates(this.#authority);
		for (const [index, certificate] of chain.entries()) {
			requireDates(certificate);
			if (this.#isIssuedByAuthority(certificate)) return true;
			const issuer = chain[index + 1];
			if (!issuer) break;
			if (!this._verify(X509.decodeSPKI(issuer), X509.decode(certificate)))
				throw new Error(
					`TLS: the server's certificate ${index + 1} is not signed by the next one. Configure the server to send its own certificate, followed by those of its authorities in order.`,
				);
			if (!mayIssue(issuer))
				throw new Error(
					`TLS: the server's certificate ${index + 2} is not that of an authority: it lacks the basic constraint CA:TRUE.`,
				);
		}
		throw new Error(unknownAuthority);
	}

	#isIssuedByAuthority(bytes: Uint8Array): boolean {
		const certificate = X509.decode(bytes);
		const key = this.#authority ? keyOfIssuer(certificate, this.#authority) : this.#builtInKey(bytes);
		return key !== undefined && this._verify(key, certificate);
	}

	/** Key of a compiled-in authority. Boards have none, which makes the SDK throw. */
	#builtInKey(bytes: Uint8Array): PublicKey | undefined {
		try {
			return this.findCert("ca.ski", X509.decodeAKI(bytes));
		} catch {
			return undefined;
		}
	}

	/** Replaces the SDK's method, which drops leading zeros in ECDSA signatures and thus rejects one in 128. */
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

/** @returns the authority's key if its subject is the certificate's issuer */
function keyOfIssuer({ tbs }: DecodedCertificate, authority: Uint8Array): PublicKey | undefined {
	const { issuer } = X509.decodeTBS(tbs);
	const { subject } = X509.decodeTBS(X509.decode(authority).tbs);
	const isSame =
		issuer.byteLength === subject.byteLength && issuer.every((byte, index) => byte === subject[index]);
	return isSame ? X509.decodeSPKI(authority) : undefined;
}

function requireDates(certificate: Uint8Array): void {
	const { from, to } = X509.decodeTBS(X509.decode(certificate).tbs).validity;
	const now = Date.now();
	// Rejects NaN, an unparsable date.
	if (!(now >= from)) throw new Error(tooEarly(from, now));
	if (!(now <= to)) throw new Error(expired(to, now));
}

/** @param wanted expected server name in lower case */
function requireName(certificate: Uint8Array, wanted: string): void {
	const names = namesOf(certificate);
	const dot = wanted.indexOf(".");
	// A wildcard matches one label (RFC 6125, 6.4.3).
	const wildcard = dot > 0 ? `*${wanted.slice(dot)}` : wanted;
	if (!names.includes(wanted) && !names.includes(wildcard)) throw new Error(wrongName(names, wanted));
}

/** Returns DNS names in lower case, and IPv4 addresses. */
function namesOf(certificate: Uint8Array): readonly string[] {
	const names: string[] = [];
	for (const { tag, value } of X509.decodeSAN(certificate) ?? []) {
		if (tag === dnsName && typeof value === "string") names.push(value.toLowerCase());
		if (tag === ipAddress && typeof value !== "string" && value.byteLength === 4)
			names.push(new Uint8Array(value).join("."));
	}
	return names;
}
