/** `npm run doctor`: checks the prerequisites of the demo, the simulator and boards on this computer, and prints fixes. */

import { runCommand, UsageError } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { purposes } from "./doctor/checks.js";
import { examine } from "./doctor/report.js";
import { idfVersion, sdkVersion } from "./moddable/versions.js";

const usage = `Usage: npm run doctor [-- ${purposes.join("|")}]

Looks at all that this computer needs for the demo, the simulator or a board, by default for all of them, and says what is missing
or wrong and how to fix it. The simulator and boards are built with the Moddable SDK ${sdkVersion}, boards and QEMU also with
ESP-IDF v${idfVersion}. It changes nothing. The exit code is 1 if something is missing.`;

await runCommand({ name: "doctor", usage, run });

async function run([word, ...others]: readonly string[]): Promise<void> {
	const asked = purposes.find((purpose) => purpose === word);
	if ((word !== undefined && asked === undefined) || others.length > 0)
		throw new UsageError(`"${others[0] ?? word}" is not understood: write one of ${purposes.join(", ")}.`);
	const { lines, isWell } = await examine(thisMachine(), asked);
	for (const line of lines) console.log(line);
	if (!isWell) process.exitCode = 1;
}
