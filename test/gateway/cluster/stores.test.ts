import { test } from "node:test";
import { MemoryBus, MemoryServer } from "../../../gateway/cluster/memory-bus.js";
import { natsMissing } from "../../support/nats.js";
import { natsBuses } from "./nats-buses.js";
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

if (natsMissing) test("NATS", { skip: natsMissing });
else testStores("NATS", natsBuses);
