/** Which certificate authority a TLS connection trusts, as the SDK takes it. */

import config from "mc/config";
import Transform from "transform";

/**
 * The authority that was compiled in: `ca`, its DER in base64. Undefined without one; then every server is refused.
 *
 * @throws SyntaxError where it is not base64
 */
export function compiledAuthority(): Uint8Array | undefined {
	const ca: unknown = config.ca;
	return typeof ca === "string" && ca !== "" ? Uint8Array.fromBase64(ca) : undefined;
}

/**
 * @param pem of a certificate authority; of several the first counts
 * @throws Error where there is none in it
 */
export function authorityOf(pem: string): ArrayBuffer {
	return Transform.pemToDER(pem);
}
