/** Messages for untrusted servers (device/host.ts, TrustOptions). */

/** @param names names in the certificate */
export function wrongName(names: readonly string[], wanted: string): string {
	const found = names.length === 0 ? "names no server (subjectAltName)" : `is for ${names.join(", ")}`;
	return `TLS: the server's certificate ${found}, and not for ${wanted}, by which it was called`;
}

/** @param from start of validity in milliseconds since 1970, like `now` */
export function tooEarly(from: number, now: number): string {
	return `TLS: a certificate of the server or its authority is valid from ${shown(from)}, and the device's clock shows ${shown(now)}; if that is wrong, it needs a time server that answers (sntp)`;
}

export function expired(to: number, now: number): string {
	return `TLS: a certificate of the server or its authority expired at ${shown(to)}, and the device's clock shows ${shown(now)}`;
}

export const unknownAuthority =
	"TLS: the server's certificate was not issued by the authority that the device was given (ca, cert_pem); it has to send its own, followed by those of the authorities between";

function shown(ms: number): string {
	return new Date(ms).toISOString().replace(/\.\d+Z/, "Z");
}
