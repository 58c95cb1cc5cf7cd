import type { Base } from "../base.js";
import type { Sessions } from "../sessions/sessions.js";

/** Options shared by device and monitor sockets. */
export interface SocketsOptions
	extends Pick<Base, "limits" | "metrics" | "log" | "yieldToLoop" | "now" | "monotonic"> {
	readonly sessions: Sessions;
}

export interface DeviceSocketsOptions extends SocketsOptions {
	/** @returns reason for which a device with this id is rejected, as a sentence; undefined: it is accepted */
	readonly rejectionOf: (deviceId: string) => string | undefined;
}
