import { memoryBuses } from "./memory-buses.js";
import { testStores } from "./stores-contract.js";

testStores("memory", memoryBuses);
