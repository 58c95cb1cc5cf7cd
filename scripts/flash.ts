/** `npm run flash`: builds the firmware and writes it to a board over USB, with the settings of this board. */

import { join } from "node:path";
import { watchFirstStart } from "./boards/first-start.js";
import { known, readArguments, usage } from "./boards/flash-arguments.js";
import { flashBoard } from "./boards/flash-board.js";
import { findPort, needBoardTools } from "./boards/tools.js";
import { print, runWords } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";

/** Time for three attempts of 20 s to join a network, and for a retry of the gateway. */
const joinMs = 90_000;

await runWords({ name: "flash", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const { model, settings, port: requestedPort, ...options } = readArguments(words);
	const problems = new Problems();
	const sdk = needBoardTools(problems, options);
	const port = problems.attempt(() => findPort(thisMachine(), requestedPort ?? process.env.UPLOAD_PORT));
	if (problems.areFound || !sdk || !port) throw problems.asError();
	const version = packageVersion();
	console.log(`Building firmware ${version} for ${model}. The first build takes several minutes.`);
	await flashBoard({
		sdk,
		model,
		version,
		releaseKeys: builtInReleaseKeys(),
		settings,
		port,
		outputFolder: join(projectFolder, ".cache", "esp32"),
		onBuilt: () =>
			console.log(
				`Writing firmware ${settings ? "and settings" : "without settings"} to the board at ${port}.`,
			),
	});
	console.log(`${model} ${version} installed. Waiting for the board to connect to its gateway:`);
	const isConnected = await watchFirstStart({
		path: port,
		timeoutMs: joinMs,
		onLine: (line) => print(`  ${line}`),
	});
	if (isConnected) console.log("Connected to the gateway.");
	else throw new Error("Not connected to a gateway. See Troubleshooting in hosts/README.md.");
}
