import { testCluster } from "./cluster-contract.js";
import { memoryBuses } from "./memory-buses.js";

testCluster("memory", memoryBuses);
