import type { Logger } from "pino";
import type { Sessions } from "../sessions/sessions.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { SocketLimits } from "./limits.js";

/** What every part of this room works with. */
export interface SocketsOptions {
	readonly sessions: Sessions;
	readonly limits: SocketLimits;
	readonly metrics: Metrics;
	readonly log: Logger;
	/** To be awaited before what a crowd may ask for at once: see turns.ts. */
	readonly turn: () => Promise<void>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Milliseconds from any start, on a clock that no one sets. */
	readonly monotonic: () => number;
}
