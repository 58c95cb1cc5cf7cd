import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf } from "../../../gateway/api/faults.js";
import { sampleReport } from "../../../scripts/api/sample-report.js";
import { steps } from "../../../scripts/bring-up/run.js";

test("refers to existing bring-up steps in each fault", () => {
	const { peripherals } = sampleReport("PROTO-1");
	const { audio } = peripherals;
	assert.deepEqual(faultsOf(peripherals), []);
	const faults = faultsOf({
		...peripherals,
		audio: { ...audio, fault: "silent" },
		ambient_light_fault: "dark",
		touch_fault: "touched",
	});
	const sentences = faults.map(({ sentence }) => sentence);
	assert.deepEqual(sentences, ["silent", "dark", "touched"]);
	const known = steps.map(({ name }) => name);
	for (const fault of faults) for (const step of fault.steps) assert.ok(known.includes(step), step);
});
