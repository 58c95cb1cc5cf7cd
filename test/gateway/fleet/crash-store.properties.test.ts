import fc from "fast-check";
import { type Crash, crashKinds } from "../../../device/protocol/messages.js";
import { crashesFile, type StoredCrash } from "../../../gateway/fleet/crash-store.js";
import { testMerge } from "../../support/merges.js";

const facts: Omit<Crash, "id" | "kind"> = {
	message: "",
	stack: "",
	firmware_version: "",
	uptime_seconds: 0,
	trace: "",
};
const crash: fc.Arbitrary<StoredCrash> = fc
	.record({ number: fc.nat(9), at: fc.integer({ min: 1, max: 5 }) }, { noNullPrototype: true })
	.map(({ number, at }) => ({ ...facts, id: number.toString(16), kind: crashKinds[0], at }));
const crashes = fc
	.uniqueArray(crash, { selector: ({ id }) => id, maxLength: 6 })
	.map((list) => crashesFile.merge(list, []));

testMerge<readonly StoredCrash[]>("crashes", crashes, crashesFile.merge);
