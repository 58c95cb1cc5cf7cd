/** Retries work until the bus is connected, which may be unreachable while this gateway starts. */

import { BusError } from "./bus.js";

const retryMs = 250;
/** Time after which the problem is reported; a leader election of NATS takes less. */
const longMs = 10_000;

export interface Wait {
	/** Whether to stop retrying. */
	readonly isClosed: () => boolean;
	/** Called once if the bus was not reached for 10 s. */
	readonly onProblem: (sentence: string) => void;
}

/** Runs work that requires the bus, and repeats it until the bus was reached. */
export async function retryUntilConnected(
	{ isClosed, onProblem }: Wait,
	work: () => Promise<void>,
): Promise<void> {
	let problem = "no answer";
	const timer = setTimeout(() => {
		onProblem(`NATS is not connected yet (${problem}).`);
	}, longMs);
	try {
		while (!isClosed())
			try {
				return await work();
			} catch (error) {
				if (!(error instanceof BusError)) throw error;
				problem = error.message;
				await new Promise((resolve) => setTimeout(resolve, retryMs));
			}
	} finally {
		clearTimeout(timer);
	}
}
