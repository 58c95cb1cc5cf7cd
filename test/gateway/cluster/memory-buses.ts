/** In-process buses. */

import { MemoryBus, MemoryServer } from "../../support/memory-bus.js";
import type { Buses } from "./bus-contract.js";

export async function memoryBuses(): Promise<Buses> {
	const server = new MemoryServer();
	return {
		connect: async () => server.connect(),
		cut: async (bus) => void (bus instanceof MemoryBus && bus.cut()),
		heal: async (bus) => void (bus instanceof MemoryBus && bus.heal()),
	};
}
