import { test } from "node:test";
import { natsMissing } from "../../support/nats.js";
import { natsBuses } from "./nats-buses.js";
import { testStores } from "./stores-contract.js";

if (natsMissing) test("NATS", { skip: natsMissing });
else testStores("NATS", natsBuses);
