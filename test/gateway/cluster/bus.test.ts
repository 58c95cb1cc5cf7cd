import { testBus } from "./bus-contract.js";
import { memoryBuses } from "./memory-buses.js";

testBus("memory", memoryBuses);
