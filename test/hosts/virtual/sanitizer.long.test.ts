/**
 * Machine under AddressSanitizer with garbage collection at each allocation, which finds C code that uses moved
 * objects.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { buildMachine, buildProgram } from "../../../hosts/virtual/node/build.js";
import type { Exit } from "../../../hosts/virtual/node/exit.js";
import { Machine } from "../../../hosts/virtual/node/machine.js";

const skip = process.platform === "linux" ? false : "needs Linux";
let executable = "";

before(async () => {
	if (!skip) executable = await buildMachine({ sanitize: true });
});

for (const [name, ms] of [
	["channels", 0],
	["clocks", 1000],
	["garbage", 50],
	["rom", 0],
] as const)
	test(`has no memory error under the sanitizers: ${name}`, { skip }, async () => {
		let exit: Exit | undefined;
		const { bytes: program } = await buildProgram({ modules: { main: `test/hosts/virtual/xs/${name}.ts` } });
		const machine = new Machine({
			executable,
			program,
			clock: "virtual",
			config: { test: "repeat", text: "text" },
			onOpen: () => ({ onCall: () => ({ detail: 1 }) }),
			onExit: (ended) => {
				exit = ended;
			},
		});
		try {
			await machine.ready;
			await machine.advance(ms);
			assert.ok((await machine.statistics()).collections > 50, "it does not collect at each allocation");
			assert.equal(exit, undefined);
		} finally {
			await machine.close();
		}
	});
