import { test } from "node:test";
import { natsMissing } from "../../support/nats.js";
import { testCluster } from "./cluster-contract.js";
import { natsBuses } from "./nats-buses.js";

if (natsMissing) test("NATS", { skip: natsMissing });
else testCluster("NATS", natsBuses);
