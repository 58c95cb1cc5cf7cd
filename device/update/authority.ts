const begin = "-----BEGIN CERTIFICATE-----";
const end = "-----END CERTIFICATE-----";

/**
 * Converts a certificate from PEM (RFC 7468) to DER.
 *
 * @param pem only its first certificate is used
 * @param name of the field, for the error
 * @returns DER in base64
 * @throws Error whose message explains what to change
 */
export function readAuthority(pem: string, name = "cert_pem"): string {
	const start = pem.indexOf(begin);
	const stop = pem.indexOf(end, start);
	const base64 = start < 0 || stop < 0 ? "" : pem.slice(start + begin.length, stop).replace(/\s/g, "");
	// No quantifier over the whole text; see splitUrl.
	if (base64 === "" || base64.length % 4 !== 0 || /[^A-Za-z\d+/]/.test(base64.replace(/={1,2}$/, "")))
		throw new Error(`${name} must be a certificate in PEM: ${begin}, its base64, ${end}.`);
	return base64;
}
