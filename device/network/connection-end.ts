/** Classifies how a connection to the gateway ended, which decides when to reconnect. */

/**
 * - `failed`: retry with a longer delay.
 * - `closed`: the gateway closed in order; retry soon.
 * - `busy`: the gateway said how long to wait.
 * - `refused`: a person has to change something.
 */
export type ConnectionEnd =
	| { readonly kind: "failed" | "closed" | "refused"; readonly reason: string }
	| { readonly kind: "busy"; readonly reason: string; readonly waitMs: number };

/** RFC 6455, 7.4.1, and IANA's registry: normal closure, going away, service restart. */
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

export function failed(reason: string): ConnectionEnd {
	return { kind: "failed", reason };
}

/** @param code of the close frame; undefined: it had none */
export function endOfClose(code: number | undefined): ConnectionEnd {
	const isOrderly = code !== undefined && orderlyCodes.includes(code);
	return {
		kind: isOrderly ? "closed" : "failed",
		reason: `the gateway closed the connection with ${code ?? "no code"}`,
	};
}

/** @param retryAfterSeconds limited to 1 to 300; undefined: not given */
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
