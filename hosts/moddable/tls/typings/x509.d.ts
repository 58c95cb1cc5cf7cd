/** modules/crypt/etc/x509. */

declare module "x509" {
	export interface PublicKey {
		/** Undefined: RSA. */
		readonly pub?: object;
		readonly curve?: { readonly n: bigint };
	}

	export interface DecodedCertificate {
		readonly tbs: Uint8Array;
		readonly algo: Uint32Array;
		readonly sig: Uint8Array;
	}

	const X509: {
		decode(certificate: Uint8Array): DecodedCertificate;
		decodeSPKI(certificate: Uint8Array): PublicKey;
		/** Undefined if the certificate has no such extension. */
		decodeExtension(certificate: Uint8Array, identifier: readonly number[]): ArrayBuffer | undefined;
	};
	export default X509;
}
