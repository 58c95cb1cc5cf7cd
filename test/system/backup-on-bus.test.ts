import { memoryBuses } from "../gateway/cluster/memory-buses.js";
import { testBackupOn } from "./backup-on-bus.js";

testBackupOn("a bus in one process", memoryBuses);
