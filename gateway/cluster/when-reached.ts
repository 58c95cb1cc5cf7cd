import { BusError } from "../bus.js";

const retryMs = 250;

/** Does work that needs the bus, again until the bus was reached. @param isClosed no more of it is needed */
export async function whenReached(isClosed: () => boolean, work: () => Promise<void>): Promise<void> {
	while (!isClosed())
		try {
			return await work();
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			await new Promise((resolve) => setTimeout(resolve, retryMs));
		}
}
