/**
 * Random steps on the boards' TCP socket (hosts/esp32/tcp) with two threads and real connections, under
 * ThreadSanitizer and under AddressSanitizer with UndefinedBehaviorSanitizer. tcp-faults.long.test.ts shows that the
 * same steps find faults.
 *
 * TEST_SEED selects another script; TCP_TEST_STEPS changes its length.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { seed } from "../../support/seed.js";
import { compile, prepareThreadSanitizer, reason, run } from "./tcp/random-test.js";

const steps = process.env.TCP_TEST_STEPS || "1000000";

const work = mkdtempSync(join(tmpdir(), "tcp-"));
after(() => rmSync(work, { recursive: true, force: true }));

describe("TCP socket of the boards", { skip: reason }, () => {
	before(() => prepareThreadSanitizer(work));

	for (const sanitizer of ["thread", "address"] as const)
		test(`survives ${steps} random steps under the sanitizer for ${sanitizer}`, async () => {
			const { status, output } = await run(compile(work, sanitizer, sanitizer), steps, String(seed));
			assert.equal(status, 0, output);
			assert.match(output, /(\d+) steps, [1-9]\d+ connections, [1-9]\d+ events/);
		});
});
