/**
 * `npm run flash`: builds the firmware for a board and writes it by USB, with the settings of this one board. First it says
 * everything that is missing, since a build that fails for that takes minutes and says it in other words.
 */

import { join } from "node:path";
import { type FlashArguments, readArguments, usage } from "./boards/flash-arguments.js";
import { flashBoard } from "./boards/flash-board.js";
import { choosePort, findPorts, missingIdf } from "./boards/tools.js";
import { findToken, Problems, runCommand } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { findModdableSdk, type ModdableSdk } from "./moddable/sdk.js";

await runCommand(run);

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, port } = prepare(words);
	const { model, settings } = given;
	const version = packageVersion();
	console.log(`Building the firmware ${version} of ${model}; the first time takes several minutes.`);
	await flashBoard({
		sdk,
		model,
		version,
		settings,
		port,
		outputFolder: join(projectFolder, ".cache", "esp32"),
		onOutput: (text) => process.stdout.write(text),
		onBuilt: () =>
			console.log(`Writing it to the board at ${port}, ${settings ? "with" : "without"} settings.`),
	});
	console.log(`${model} ${version} is on the board. It starts by itself, or at its reset button.`);
}

interface Prepared {
	readonly given: FlashArguments;
	readonly sdk: ModdableSdk;
	readonly port: string;
}

/** @throws Error that says everything that is missing */
function prepare(words: readonly string[]): Prepared {
	const problems = new Problems();
	const given = problems.attempt(() => readArguments({ words, findToken }));
	const sdk = problems.attempt(() => findModdableSdk());
	problems.add(missingIdf(process.env));
	const named = words.find((word) => word.startsWith("port="))?.slice("port=".length);
	const chosen = choosePort(named || process.env.UPLOAD_PORT, findPorts());
	if ("problem" in chosen) problems.add(chosen.problem);
	if (problems.sentences.length > 0 || !given || !sdk || "problem" in chosen) throw problems.asError(usage);
	return { given, sdk, port: chosen.port };
}
