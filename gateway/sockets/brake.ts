/**
 * Makes a client that says too much wait: its socket is not read for as long as its surplus would have taken at the allowed
 * rate. Refusing alone is not enough: whoever sends garbage at full speed would keep the gateway busy with refusals, and
 * everybody else's reports would wait behind them. TCP passes the wait on to the sender.
 */

import type { WebSocket } from "ws";

export interface BrakeOptions {
	readonly socket: Pick<WebSocket, "pause" | "resume">;
	/** Messages that are allowed, in the long run. */
	readonly perSecond: number;
	/** The longest wait; shorter than what a heartbeat takes for silence, since pongs wait too. */
	readonly maxMs: number;
}

export class Brake {
	readonly #options: BrakeOptions;
	/** Messages that were refused since the socket was last read freely. */
	#surplus = 0;

	constructor(options: BrakeOptions) {
		this.#options = options;
	}

	/** To be called for each message that is refused for its rate. */
	apply(): void {
		this.#surplus += 1;
		if (this.#surplus > 1) return;
		this.#options.socket.pause();
		// What has been read already comes in this turn of the event loop; only after it the surplus is known.
		setImmediate(() => {
			const { socket, perSecond, maxMs } = this.#options;
			const waitMs = Math.min(maxMs, (this.#surplus / perSecond) * 1000);
			setTimeout(() => {
				this.#surplus = 0;
				socket.resume();
			}, waitMs).unref();
		});
	}
}
