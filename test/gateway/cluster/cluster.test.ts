import { MemoryBus, MemoryServer } from "../../../gateway/cluster/memory-bus.js";
import { testCluster } from "./cluster-contract.js";

testCluster("memory", async () => {
	const server = new MemoryServer();
	return {
		connect: async () => server.connect(),
		cut: async (bus) => void (bus instanceof MemoryBus && bus.cut()),
		heal: async (bus) => void (bus instanceof MemoryBus && bus.heal()),
		pass: async () => {},
	};
});
