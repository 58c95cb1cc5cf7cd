/** modules/crypt/etc/x509. */

declare module "x509" {
	export interface PublicKey {
		/** Undefined for RSA. */
		readonly pub?: object;
		readonly curve?: { readonly n: bigint };
	}

	export interface DecodedCertificate {
		readonly tbs: Uint8Array;
		readonly algo: Uint32Array;
		readonly sig: Uint8Array;
	}

	/** DER elements with tag and length; `validity` in milliseconds since 1970. */
	export interface DecodedBody {
		readonly issuer: Uint8Array;
		readonly subject: Uint8Array;
		readonly validity: { readonly from: number; readonly to: number };
	}

	const X509: {
		decode(certificate: Uint8Array): DecodedCertificate;
		decodeTBS(tbs: Uint8Array): DecodedBody;
		/** @returns undefined without the extension */
		decodeSAN(
			certificate: Uint8Array,
		): readonly { readonly tag: number; readonly value: string | ArrayBuffer }[] | undefined;
		/** @returns undefined without the extension or a key in it */
		decodeAKI(certificate: Uint8Array): Uint8Array | ArrayBuffer | undefined;
		decodeSPKI(certificate: Uint8Array): PublicKey;
		/** @returns undefined without the extension */
		decodeExtension(certificate: Uint8Array, identifier: readonly number[]): ArrayBuffer | undefined;
	};
	export default X509;
}
