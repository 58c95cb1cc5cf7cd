import { test } from "node:test";
import { whyMissing } from "../../support/programs.js";
import { natsBuses } from "./nats-buses.js";
import { testStores } from "./stores-contract.js";

const skip = whyMissing("nats-server");
if (skip) test("NATS", { skip });
else testStores("NATS", natsBuses);
