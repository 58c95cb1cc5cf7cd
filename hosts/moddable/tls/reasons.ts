/** Messages for untrusted servers (device/host.ts, TrustOptions). */

/** @param names names in the certificate */
export function wrongName(names: readonly string[], wanted: string): string {
	const found = names.length === 0 ? "names no server (subjectAltName)" : `is for ${names.join(", ")}`;
	return `TLS: the server's certificate ${found}, not for ${wanted}, the name in the address`;
}

/** @param from start of validity in milliseconds since 1970, like `now` */
export function tooEarly(from: number, now: number): string {
	return `TLS: a certificate of the server or its authority is valid from ${format(from)}, but the device's clock shows ${format(now)}. If the clock is wrong, set a reachable time server (sntp).`;
}

export function expired(to: number, now: number): string {
	return `TLS: a certificate of the server or its authority expired at ${format(to)}; the device's clock shows ${format(now)}`;
}

export const unknownAuthority =
	"TLS: the server's certificate was not issued by the device's authority (ca, cert_pem). Check the authority, and that the server sends its own certificate followed by all intermediate ones.";

function format(ms: number): string {
	return new Date(ms).toISOString().replace(/\.\d+Z/, "Z");
}
