import type { Base } from "../base.js";
import type { Events } from "../events.js";
import type { HttpRejection } from "../problem.js";
import type { Sessions } from "../sessions/sessions.js";

/** Options shared by device and monitor sockets. */
export interface SocketsOptions
	extends Pick<Base, "limits" | "metrics" | "log" | "yieldToLoop" | "now" | "monotonic"> {
	readonly sessions: Sessions;
	readonly events: Events;
}

export interface DeviceSocketsOptions extends SocketsOptions {
	/** @returns rejection of a device with this id; undefined: it is accepted */
	readonly rejectionOf: (deviceId: string) => HttpRejection | undefined;
}
