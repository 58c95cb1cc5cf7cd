/** Classifies how a connection to the gateway ended. The class determines when the device reconnects. */

/**
 * - `failed`: retries with a growing delay.
 * - `busy`: the gateway specified the delay.
 * - `rejected`: someone must change the configuration.
 */
export type ConnectionEnd =
	| { readonly kind: "failed" | "rejected"; readonly reason: string }
	| {
			readonly kind: "busy";
			readonly reason: string;
			/** Minimum delay. */
			readonly waitMs: number;
			/** Maximum random addition to the delay. */
			readonly spreadMs: number;
	  };

/** Service restart, in IANA's registry of close codes. */
const serviceRestart = 1012;
/** Close code of this project's gateway. */
const duplicateId = 4002;

const minWaitSeconds = 1;
/** Limits the effect of a wrong value. */
const maxWaitSeconds = 120;

const rejections: Readonly<Record<number, string>> = Object.freeze({
	400: "the gateway rejected the handshake (400): firmware and gateway are incompatible",
	401: "the gateway rejected the token (401)",
	403: "the gateway rejected the token (403): it belongs to another device",
	404: "the gateway's address has the wrong path (404)",
	410: "the gateway rejected this device (410): another one has replaced it",
	426: "the gateway rejected the protocol version (426): firmware and gateway are incompatible",
	507: "the gateway rejected this device (507): it knows too many",
});
const changeNeeded: readonly number[] = Object.freeze([401, 403, 410, 507]);

export function failed(reason: string): ConnectionEnd {
	return { kind: "failed", reason };
}

/**
 * @param code of the close frame; undefined: none
 * @param text reason of the close frame; for 1012, `retry in <seconds> s`, limited to 1 to 120 s
 */
export function endOfClose(code: number | undefined, text = ""): ConnectionEnd {
	const retryIn = code === serviceRestart ? /^retry in (\d{1,9}) s$/.exec(text)?.[1] : undefined;
	if (retryIn !== undefined) {
		const seconds = limited(Number(retryIn));
		// The delay is in whole seconds: spread devices with the same one.
		return { kind: "busy", reason: `the gateway restarts: ${text}`, waitMs: seconds * 1000, spreadMs: 1000 };
	}
	if (code === duplicateId)
		return {
			kind: "rejected",
			reason: `the gateway rejected this device (${code}): another board has its id`,
		};
	return failed(`the gateway closed the connection with ${code ?? "no code"}`);
}

/** @param retryAfterSeconds limited to 1 to 120; undefined: not specified */
export function endOfRejection(status: number, retryAfterSeconds: number | undefined): ConnectionEnd {
	if ((status === 429 || status === 503) && retryAfterSeconds !== undefined) {
		const seconds = limited(retryAfterSeconds);
		return {
			kind: "busy",
			reason: `the gateway is busy (${status}); retrying in ${seconds} s or a little later`,
			waitMs: seconds * 1000,
			// A proxy sends the same delay to all devices.
			spreadMs: seconds * 500,
		};
	}
	return {
		kind: changeNeeded.includes(status) ? "rejected" : "failed",
		reason: rejections[status] ?? `the gateway rejected the connection (${status})`,
	};
}

function limited(seconds: number): number {
	return Math.min(maxWaitSeconds, Math.max(minWaitSeconds, seconds));
}
