/** `npm run flash`: builds the firmware for a board and writes it by USB, with the settings of this board. */

import { join } from "node:path";
import { printable } from "../gateway/telemetry/printable.js";
import { watchFirstStart } from "./boards/first-start.js";
import { type FlashArguments, options, readArguments, toolsIn, usage } from "./boards/flash-arguments.js";
import { flashBoard } from "./boards/flash-board.js";
import { choosePort, findPorts, missingIdf } from "./boards/tools.js";
import { runCommand } from "./command-line/command.js";
import { findToken } from "./command-line/device-settings.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { findModdableSdk, type ModdableSdk } from "./moddable/sdk.js";

/** Three attempts at a network, of 20 s each, and a gateway that is asked again. */
const joinMs = 90_000;

await runCommand({ name: "flash", usage, options, run });

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, port } = prepare(words);
	const { model, settings } = given;
	const version = packageVersion();
	console.log(`Building the firmware ${version} of ${model}; the first time takes several minutes.`);
	await flashBoard({
		sdk,
		model,
		version,
		releaseKeys: builtInReleaseKeys(),
		settings,
		port,
		outputFolder: join(projectFolder, ".cache", "esp32"),
		onOutput: (text) => process.stdout.write(text),
		onBuilt: () =>
			console.log(`Writing it to the board at ${port}, ${settings ? "with" : "without"} settings.`),
	});
	console.log(`${model} ${version} is on the board, which starts. Waiting until it has joined its gateway:`);
	const { isJoined, text } = await watchFirstStart({
		path: port,
		timeoutMs: joinMs,
		onLine: (line) => console.log(`  ${printable(line)}`),
	});
	console.log(printable(text));
	if (!isJoined) process.exitCode = 1;
}

interface Prepared {
	readonly given: FlashArguments;
	readonly sdk: ModdableSdk;
	readonly port: string;
}

/** @throws Error that names everything that is missing */
function prepare(words: readonly string[]): Prepared {
	const problems = new Problems();
	const given = problems.attempt(() => readArguments({ words, findToken }));
	const { port, ...tools } = toolsIn(words);
	const sdk = problems.attempt(() => findModdableSdk(tools));
	const machine = thisMachine();
	problems.add(missingIdf(machine, tools));
	const chosen = choosePort(port ?? process.env.UPLOAD_PORT, findPorts(machine.list));
	if ("problem" in chosen) problems.add(chosen.problem);
	if (problems.areFound || !given || !sdk || "problem" in chosen) throw problems.asError();
	return { given, sdk, port: chosen.port };
}
