import { test } from "node:test";
import { whyMissing } from "../../support/programs.js";
import { testCluster } from "./cluster-contract.js";
import { natsBuses } from "./nats-buses.js";

const skip = whyMissing("nats-server");
if (skip) test("NATS", { skip });
else testCluster("NATS", natsBuses);
