import assert from "node:assert/strict";
import { test } from "node:test";
import { runSteps } from "../../scripts/command-line/steps.js";

function step(name: string, script: string) {
	return { name, command: process.execPath, words: ["--eval", script] };
}

test("runs and reports every step, even after a failure, and prints the output only of failed ones", async () => {
	const texts: string[] = [];
	const isDone = await runSteps(
		[
			step("first", 'console.log("wrong here"); process.exit(1)'),
			step("second", 'console.log("much")'),
			step("third", 'throw new Error("wrong there")'),
			{ name: "fourth", command: "no-such-command", words: [] },
		],
		(text) => texts.push(text),
	);
	assert.equal(isDone, false);
	const text = (name: string) => texts.find((text) => text.split("\n")[0]?.endsWith(name)) ?? "";
	assert.match(text("first"), /^✘ first\nwrong here/);
	assert.equal(text("second"), "✔ second");
	assert.match(text("third"), /^✘ third\n.*wrong there/s);
	assert.match(text("fourth"), /^✘ fourth\n.*ENOENT/s);
});

test("succeeds if all steps succeed", async () => {
	assert.equal(await runSteps([step("one", "")], () => {}), true);
});
