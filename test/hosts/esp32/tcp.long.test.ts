/**
 * Random steps on the boards' TCP socket (hosts/esp32/tcp) with real connections, under AddressSanitizer and
 * UndefinedBehaviorSanitizer.
 *
 * TEST_SEED selects another script; TCP_TEST_STEPS changes its length.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileC, runC, withoutCompiler } from "../../support/c-program.js";
import { seed } from "../../support/seed.js";

const steps = process.env.TCP_TEST_STEPS || "300000";
const skip = process.platform === "linux" ? withoutCompiler : "needs Linux";

test(`the boards' TCP socket survives ${steps} random steps`, { skip }, () => {
	const program = compileC({
		sources: [
			"hosts/esp32/tcp/tcp-connection.c",
			"test/hosts/esp32/tcp/tcp-port-test.c",
			"test/hosts/esp32/tcp/tcp-random.c",
		],
		folders: ["hosts/esp32/tcp", "test/hosts/esp32/tcp"],
		sanitizers: ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GNU_SOURCE", "-g"],
	});
	const output = runC(program, "", steps, String(seed)).toString();
	assert.match(output, /(\d+) steps, [1-9]\d+ connections, [1-9]\d+ events/);
});
