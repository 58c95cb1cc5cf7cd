/** modules/crypt/ssl/ssl_cert, which has no typings. */

declare module "ssl/cert" {
	import type { DecodedCertificate, PublicKey } from "x509";

	export default class CertificateManager {
		constructor(options: object);
		/** Whether a known authority signed the chain and it is for the server's name. */
		verify(chain: readonly Uint8Array[], options: object): boolean | undefined;
		/** Throws if the algorithm is unknown. */
		_verify(key: PublicKey, certificate: DecodedCertificate): boolean;
	}
}
