import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("quick tests have no polling loop or event without a timeout", () => {
	// Simulated hardware and networks may wait forever.
	const simulations = ["test/support/faulty-link.ts", "test/support/eventually.ts"];
	const files = ["device", "gateway", "hosts", "scripts", "support", "system"].flatMap((folder) =>
		readdirSync(`test/${folder}`, { recursive: true, encoding: "utf8" }).map(
			(file) => `test/${folder}/${file}`,
		),
	);
	const found = files
		.filter((file) => file.endsWith(".ts") && !file.includes(".long.test.") && !simulations.includes(file))
		.filter((file) => /\bawait once\(|^\s*while \(.*\) await /m.test(readFileSync(file, "utf8")));
	assert.deepEqual(found, [], "use nextEvent and waitUntil of test/support/eventually.ts");
});
