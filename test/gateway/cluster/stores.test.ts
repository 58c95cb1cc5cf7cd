import { test } from "node:test";
import { natsMissing } from "../../support/nats.js";
import { memoryBuses } from "./memory-buses.js";
import { natsBuses } from "./nats-buses.js";
import { testStores } from "./stores-contract.js";

testStores("memory", memoryBuses);
if (natsMissing) test("NATS", { skip: natsMissing });
else testStores("NATS", natsBuses);
