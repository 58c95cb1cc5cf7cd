import type { Base } from "../base.js";
import type { Sessions } from "../sessions/sessions.js";

/** Shared options of both kinds of sockets. */
export interface SocketsOptions
	extends Pick<Base, "limits" | "metrics" | "log" | "yieldToLoop" | "now" | "monotonic"> {
	readonly sessions: Sessions;
}

export interface DeviceSocketsOptions extends SocketsOptions {
	/** @returns why a device of this id is not let in, one sentence; undefined: it is */
	readonly rejectionOf: (deviceId: string) => string | undefined;
}
