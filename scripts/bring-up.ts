/** `npm run bring-up`: tests the parts of a new board interactively, and prints the required changes of its pins.ts. */

import { join } from "node:path";
import { messageOf } from "../device/message-of.js";
import { boardOf } from "./boards/build.js";
import { flashBoard } from "./boards/flash-board.js";
import { readPins } from "./boards/pins.js";
import { SerialPort } from "./boards/serial.js";
import { findPort, needBoardTools } from "./boards/tools.js";
import { type BringUpArguments, known, readArguments, usage } from "./bring-up/arguments.js";
import { BringUpBoard } from "./bring-up/board.js";
import { bringUpManifest } from "./bring-up/hardware.js";
import { changes, table } from "./bring-up/report.js";
import { runSteps } from "./bring-up/run.js";
import { Terminal } from "./bring-up/terminal.js";
import { runWords } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";

/** Number of log lines shown if the board does not respond. */
const shownLines = 10;

await runWords({ name: "bring-up", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const request = readArguments(words);
	const path = await install(request);
	const log: string[] = [];
	const line = new SerialPort({ path, onLine: (text) => board.receive(text) });
	const board = new BringUpBoard({ line, onLog: (text) => log.push(text) });
	const person = new Terminal();
	try {
		await board.waitUntilReady();
		await runAll(board, person, request);
	} catch (error) {
		const last = log.slice(-shownLines).join("\n");
		throw new Error(`${messageOf(error)}${last && `\nLast lines of the board:\n${last}`}`);
	} finally {
		person.close();
		line.close();
	}
}

/** Builds and flashes the program, unless it is kept. @returns the serial port @throws Error with all missing prerequisites */
async function install({ model, isKept, port, isAnyVersion }: BringUpArguments): Promise<string> {
	const problems = new Problems();
	const sdk = isKept ? undefined : needBoardTools(problems, { isAnyVersion });
	const path = problems.attempt(() => findPort(thisMachine(), port ?? process.env.UPLOAD_PORT));
	if (problems.areFound || !path) throw problems.asError();
	if (!sdk) return path;
	console.log(`Building the bring-up program for ${model}. The first build takes several minutes.`);
	await flashBoard({
		sdk,
		model,
		manifest: bringUpManifest,
		version: packageVersion(),
		releaseKeys: "",
		settings: undefined,
		port: path,
		outputFolder: join(projectFolder, ".cache", "bring-up"),
		onBuilt: () => console.log(`Writing it to the board at ${path}.`),
	});
	return path;
}

async function runAll(
	board: BringUpBoard,
	person: Terminal,
	{ model, steps: chosen }: BringUpArguments,
): Promise<void> {
	const results = await runSteps(
		{ board, person, model, chip: "esp32s3", pins: await readPins(model) },
		chosen,
	);
	person.print(`\n${table(results)}`);
	const toChange = changes(results, model);
	if (toChange) person.print(`\nRequired changes for this board:\n\n${toChange}`);
	person.print(`\nRestore the firmware with: npm run flash -- ${boardOf(model)} keep`);
	if (results.some(({ outcome }) => outcome === "failed")) process.exitCode = 1;
}
