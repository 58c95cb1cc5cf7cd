import { test } from "node:test";
import { natsBuses } from "../gateway/cluster/nats-buses.js";
import { natsMissing } from "../support/nats.js";
import { testBackupOn } from "./backup-on-bus.js";

if (natsMissing) test("NATS", { skip: natsMissing });
else testBackupOn("NATS", natsBuses);
