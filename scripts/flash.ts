/**
 * `npm run flash`: builds the firmware for a board, with its network and gateway compiled in, and writes it by USB. First it
 * says everything that is missing, since a build that fails for that takes minutes and says it in other words.
 */

import { join } from "node:path";
import { buildBoard, flashBoard } from "./board-build.js";
import { choosePort, findPorts, missingIdf } from "./board-tools.js";
import { findToken, Problems, packageVersion, runCommand } from "./build-command.js";
import { type FlashArguments, readArguments, usage } from "./flash-arguments.js";
import { findModdableSdk, type ModdableSdk, projectFolder } from "./moddable-sdk.js";
import { RedactingPrinter } from "./redacting-printer.js";

await runCommand(run);

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, port } = prepare(words);
	const { model, settings, secrets } = given;
	const version = packageVersion();
	const outputFolder = join(projectFolder, ".cache", "esp32");
	const printer = new RedactingPrinter({ secrets, print: (line) => console.log(line) });
	const onOutput = (text: string) => printer.write(text);
	const board = { ...sdk, environment: { ...sdk.environment, UPLOAD_PORT: port } };
	try {
		console.log(`Building the firmware ${version} of ${model}; the first time takes several minutes.`);
		await buildBoard({ sdk: board, model, version, outputFolder, settings, onOutput });
		console.log(`Writing it to the board at ${port}.`);
		await flashBoard({ sdk: board, model, outputFolder, onOutput });
	} finally {
		printer.end();
	}
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
