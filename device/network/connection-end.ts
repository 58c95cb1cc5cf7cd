/**
 * How a connection to the gateway ended, which decides when the next attempt follows. A gateway that restarts or is busy
 * is no failure of the device, and a refused token is not mended by trying more often.
 */

/**
 * - `failed`: the next attempt waits longer than the one before.
 * - `closed`: the gateway closed in order; the next attempt follows soon.
 * - `busy`: the gateway said how long to wait.
 * - `refused`: nothing helps but a person.
 */
export type ConnectionEnd =
	| { readonly kind: "failed" | "closed" | "refused"; readonly reason: string }
	| { readonly kind: "busy"; readonly reason: string; readonly waitMs: number };

/** RFC 6455, section 7.4.1, and IANA's registry: normal closure (`boot_device`), going away, service restart. */
const orderlyCodes: readonly number[] = Object.freeze([1000, 1001, 1012]);

const shortestWaitSeconds = 1;
const longestWaitSeconds = 300;

const refusals: Readonly<Record<number, string>> = Object.freeze({
	400: "the gateway refused the handshake (400): this firmware and the gateway do not fit together",
	401: "the gateway refused the token (401)",
	403: "the gateway refused the token (403): it is not for this device",
	404: "the gateway's address has the wrong path (404)",
	426: "the gateway refused the protocol version (426): this firmware and the gateway do not fit together",
});

/** @param reason for a person */
export function failed(reason: string): ConnectionEnd {
	return { kind: "failed", reason };
}

/** @param code of the gateway's close frame; undefined: it had none */
export function endOfClose(code: number | undefined): ConnectionEnd {
	const isOrderly = code !== undefined && orderlyCodes.includes(code);
	return {
		kind: isOrderly ? "closed" : "failed",
		reason: `the gateway closed the connection with ${code ?? "no code"}`,
	};
}

/**
 * @param status of the HTTP response to the upgrade
 * @param retryAfterSeconds its Retry-After, where it has one in seconds; at least 1 and at most 300 of them count
 */
export function endOfRefusal(status: number, retryAfterSeconds: number | undefined): ConnectionEnd {
	if ((status === 429 || status === 503) && retryAfterSeconds !== undefined) {
		const seconds = Math.min(longestWaitSeconds, Math.max(shortestWaitSeconds, retryAfterSeconds));
		return {
			kind: "busy",
			reason: `the gateway is busy (${status}); it is tried again in ${seconds} s or a little later`,
			waitMs: seconds * 1000,
		};
	}
	return {
		kind: status === 401 || status === 403 ? "refused" : "failed",
		reason: refusals[status] ?? `the gateway refused the connection (${status})`,
	};
}
