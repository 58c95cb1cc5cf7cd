/** `npm run doctor`: checks the prerequisites of the demo, the simulator and boards on this computer, and prints fixes. */

import { type Arguments, runCommand, UsageError } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { purposes } from "./doctor/checks.js";
import { runChecks } from "./doctor/report.js";
import { idfVersion, sdkVersion } from "./moddable/versions.js";

const usage = `Usage: npm run doctor [-- ${purposes.join("|")}]

Checks the prerequisites of the demo, the simulator or boards, by default of all three, and prints how to fix problems. The
simulator and boards require the Moddable SDK ${sdkVersion}; boards and QEMU also require ESP-IDF v${idfVersion}. It changes nothing. The exit
code is 1 if something is missing.`;

await runCommand({ name: "doctor", usage, options: {}, allowPositionals: true, run });

async function run({ positionals: [word, ...others] }: Arguments): Promise<void> {
	const requested = purposes.find((purpose) => purpose === word);
	if ((word !== undefined && requested === undefined) || others.length > 0)
		throw new UsageError(`Unknown argument "${others[0] ?? word}". Use one of ${purposes.join(", ")}.`);
	const { lines, isComplete } = await runChecks(thisMachine(), requested);
	for (const line of lines) console.log(line);
	if (!isComplete) process.exitCode = 1;
}
