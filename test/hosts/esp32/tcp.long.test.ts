/**
 * Random steps on the boards' TCP socket (hosts/esp32/tcp) with two threads and real connections, under
 * ThreadSanitizer and under AddressSanitizer with UndefinedBehaviorSanitizer.
 *
 * TEST_SEED selects another script; TCP_TEST_STEPS changes its length.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { compileC, withoutCompiler } from "../../support/c-program.js";
import { seed } from "../../support/seed.js";

const steps = process.env.TCP_TEST_STEPS || "300000";
const skip = process.platform === "linux" ? withoutCompiler : "needs Linux";

function run(...words: readonly string[]): { status: number | null; output: string } {
	const [command = "", ...rest] = words;
	const { status, stdout, stderr } = spawnSync(command, rest, {
		env: { ...process.env, TSAN_OPTIONS: "halt_on_error=1" },
		encoding: "utf8",
	});
	const output = stdout + stderr;
	// gcc's ThreadSanitizer requires addresses that a kernel with vm.mmap_rnd_bits above 28 may use for others.
	const isMisplaced = output.includes("unexpected memory mapping") && command !== "setarch";
	return isMisplaced ? run("setarch", "-R", ...words) : { status, output };
}

describe("TCP socket of the boards", { skip }, () => {
	for (const sanitizer of ["thread", "address,undefined"])
		test(`survives ${steps} random steps under the sanitizer for ${sanitizer}`, () => {
			const program = compileC({
				sources: [
					"hosts/esp32/tcp/tcp-connection.c",
					"hosts/esp32/tcp/tcp-watcher.c",
					"test/hosts/esp32/tcp/tcp-port-test.c",
					"test/hosts/esp32/tcp/tcp-random.c",
				],
				folders: ["hosts/esp32/tcp", "test/hosts/esp32/tcp"],
				sanitizers: [
					`-fsanitize=${sanitizer}`,
					"-fno-sanitize-recover=all",
					"-D_GNU_SOURCE",
					"-g",
					"-pthread",
				],
			});
			const { status, output } = run(program, steps, String(seed));
			assert.equal(status, 0, output);
			assert.match(output, /(\d+) steps, [1-9]\d+ connections, [1-9]\d+ events/);
		});
});
