/** In-process buses. */

import { MemoryBus, MemoryServer } from "../../support/memory-bus.js";
import type { Buses } from "./bus-contract.js";

export async function memoryBuses(): Promise<Buses> {
	let now = 0;
	const server = new MemoryServer(() => now);
	return {
		connect: async () => server.connect(),
		cut: async (bus) => void (bus instanceof MemoryBus && bus.cut()),
		heal: async (bus) => void (bus instanceof MemoryBus && bus.heal()),
		pass: async (ms) => {
			now += ms;
		},
	};
}
