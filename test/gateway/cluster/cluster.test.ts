import { test } from "node:test";
import { natsMissing } from "../../support/nats.js";
import { testCluster } from "./cluster-contract.js";
import { memoryBuses } from "./memory-buses.js";
import { natsBuses } from "./nats-buses.js";

testCluster("memory", memoryBuses);
if (natsMissing) test("NATS", { skip: natsMissing });
else testCluster("NATS", natsBuses);
