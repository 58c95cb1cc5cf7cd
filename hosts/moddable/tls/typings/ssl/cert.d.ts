/** modules/crypt/ssl/ssl_cert has no typings. */

declare module "ssl/cert" {
	import type { DecodedCertificate, PublicKey } from "x509";

	export default class CertificateManager {
		constructor(options: object);
		/** @returns whether a known authority signed the chain and it matches the server's name */
		verify(chain: readonly Uint8Array[], options: { tls_server_name: string }): boolean | undefined;
		/** @returns the key of a compiled-in authority; undefined if not found @throws Error without compiled-in authorities */
		findCert(index: string, identifier: Uint8Array | ArrayBuffer | undefined): PublicKey | undefined;
		/** @throws Error if the algorithm is unknown */
		_verify(key: PublicKey, certificate: DecodedCertificate): boolean;
	}
}
