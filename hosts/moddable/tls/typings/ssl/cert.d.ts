/** modules/crypt/ssl/ssl_cert has no typings. */

declare module "ssl/cert" {
	import type { DecodedCertificate, PublicKey } from "x509";

	export default class CertificateManager {
		constructor(options: object);
		/** Whether a known authority signed the chain and it is for the server's name. */
		verify(chain: readonly Uint8Array[], options: { tls_server_name: string }): boolean | undefined;
		/** The key of a compiled in authority; undefined if there is none. @throws Error without such resources */
		findCert(index: string, identifier: Uint8Array | ArrayBuffer | undefined): PublicKey | undefined;
		/** Throws if the algorithm is unknown. */
		_verify(key: PublicKey, certificate: DecodedCertificate): boolean;
	}
}
