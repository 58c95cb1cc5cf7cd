/** The SDK's module (modules/crypt/etc/x509) has no typings. */

declare module "x509" {
	export interface PublicKey {
		/** A point and its curve; undefined: it is RSA's. */
		readonly pub?: object;
		readonly curve?: object;
	}

	export interface DecodedCertificate {
		/** What is signed. */
		readonly tbs: Uint8Array;
		readonly algo: Uint32Array;
		readonly sig: Uint8Array;
	}

	const X509: {
		decode(certificate: Uint8Array): DecodedCertificate;
		decodeSPKI(certificate: Uint8Array): PublicKey;
		/** The value of the extension with that object identifier; undefined: it has none. */
		decodeExtension(certificate: Uint8Array, identifier: readonly number[]): ArrayBuffer | undefined;
	};
	export default X509;
}
