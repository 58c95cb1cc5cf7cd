import { MemoryBus, MemoryServer } from "../../../gateway/cluster/memory-bus.js";
import { testStores } from "./stores-contract.js";

testStores("memory", async () => {
	const server = new MemoryServer();
	return {
		connect: async () => server.connect(),
		cut: async (bus) => void (bus instanceof MemoryBus && bus.cut()),
		heal: async (bus) => void (bus instanceof MemoryBus && bus.heal()),
		pass: async () => {},
	};
});
