/** The SDK's certificates (modules/crypt/ssl/ssl_cert) have no typings. */

declare module "ssl/cert" {
	import type { DecodedCertificate, PublicKey } from "x509";

	export default class CertificateManager {
		constructor(options: object);
		/** Whether an authority that is known signed the last one, and one before it is for the server's name. */
		verify(chain: readonly Uint8Array[], options: object): boolean | undefined;
		/** Whether the certificate is signed with that key. Throws where it does not know how. */
		_verify(key: PublicKey, certificate: DecodedCertificate): boolean;
	}
}
