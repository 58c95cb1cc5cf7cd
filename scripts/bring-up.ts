/** `npm run bring-up`: tests the parts of a new board interactively, and prints the required changes of its pins.ts. */

import { messageOf } from "../device/message-of.js";
import { isInQemu } from "./boards/build.js";
import { known, readArguments, usage } from "./bring-up/arguments.js";
import { BringUpBoard } from "./bring-up/board.js";
import { type Connection, connect } from "./bring-up/connect.js";
import { changes, table } from "./bring-up/report.js";
import { runSteps } from "./bring-up/run.js";
import { readPins } from "./bring-up/targets.js";
import { Terminal } from "./bring-up/terminal.js";
import { runWords } from "./command-line/command.js";

/** Number of log lines shown if the board does not respond. */
const shownLines = 10;

await runWords({ name: "bring-up", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const request = readArguments(words);
	const log: string[] = [];
	let connection: Connection | undefined;
	const board = new BringUpBoard({
		line: { write: (text) => connection?.write(text) },
		onLog: (line) => log.push(line),
	});
	connection = await connect(request, {
		onLine: (line) => board.receive(line),
		onEnd: (reason) => board.end(reason),
	});
	const person = new Terminal();
	// The default action would leave QEMU running.
	process.once("SIGTERM", () => connection?.close());
	try {
		await board.waitUntilReady();
		await runAll(board, person, request);
	} catch (error) {
		const last = log.slice(-shownLines).join("\n");
		throw new Error(`${messageOf(error)}${last && `\nLast lines of the board:\n${last}`}`);
	} finally {
		person.close();
		connection.close();
	}
}

async function runAll(
	board: BringUpBoard,
	person: Terminal,
	{ target, steps: chosen }: ReturnType<typeof readArguments>,
): Promise<void> {
	const { host } = target;
	const results = await runSteps({ board, person, target, pins: await readPins(target) }, chosen);
	person.print(`\n${table(results)}`);
	const toChange = changes(results, host);
	if (toChange) person.print(`\nRequired changes for this board:\n\n${toChange}`);
	if (!isInQemu(host)) person.print(`\nRestore the firmware with: npm run flash -- ${host} keep`);
	if (results.some(({ outcome }) => outcome === "failed")) process.exitCode = 1;
}
