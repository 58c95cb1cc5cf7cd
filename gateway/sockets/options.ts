import type { Logger } from "pino";
import type { Sessions } from "../sessions/sessions.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { SocketLimits } from "./limits.js";

export interface SocketsOptions {
	readonly sessions: Sessions;
	readonly limits: SocketLimits;
	readonly metrics: Metrics;
	readonly log: Logger;
	/** Awaited before work that many clients may cause at once: see event-loop.ts. */
	readonly yieldToLoop: () => Promise<void>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}
