/** Retries bus operations at startup, when the bus may not be reachable yet. */

import { BusError } from "./bus.js";

const retryMs = 250;
/** Time after which the problem is reported; a leader election of NATS takes less. */
const reportMs = 10_000;

export interface RetryOptions {
	/** Whether to stop retrying. */
	readonly isClosed: () => boolean;
	/** Called once if the bus was unreachable for 10 s. */
	readonly onProblem: (sentence: string) => void;
}

/** Runs an operation that requires the bus, and repeats it until the bus is reachable. */
export async function retryUntilConnected(
	{ isClosed, onProblem }: RetryOptions,
	operation: () => Promise<void>,
): Promise<void> {
	let problem = "no response";
	const timer = setTimeout(() => {
		onProblem(`NATS is still unreachable (${problem}). Check NATS_URL and the NATS server.`);
	}, reportMs);
	try {
		while (!isClosed())
			try {
				return await operation();
			} catch (error) {
				if (!(error instanceof BusError)) throw error;
				problem = error.message;
				await new Promise((resolve) => setTimeout(resolve, retryMs));
			}
	} finally {
		clearTimeout(timer);
	}
}
