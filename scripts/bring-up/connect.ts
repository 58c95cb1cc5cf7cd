/** Installs the bring-up program on a board or in QEMU, and connects to it. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { binFolder, buildBoard, isInQemu } from "../boards/build.js";
import { flashBoard } from "../boards/flash-board.js";
import { makeFlashImage, settingsPartition } from "../boards/flash-image.js";
import { SerialPort } from "../boards/serial.js";
import { findPort, needBoardTools } from "../boards/tools.js";
import { thisMachine } from "../command-line/machine.js";
import { Problems } from "../command-line/problems.js";
import { packageVersion } from "../command-line/project.js";
import { findQemu, startQemu } from "../qemu/tools.js";
import type { BringUpArguments } from "./arguments.js";
import type { SerialLine } from "./board.js";
import { bringUpManifest, outputFolder } from "./targets.js";

export interface Connection extends SerialLine {
	close(): void;
}

interface ConnectOptions {
	readonly onLine: (line: string) => void;
	/** Called when the connection ends unexpectedly. */
	readonly onEnd: (reason: string) => void;
}

/** Builds and flashes the program, unless it is kept. @throws Error with all missing prerequisites */
export async function connect(
	{ target, isKept, port, isAnyVersion = false }: BringUpArguments,
	{ onLine, onEnd }: ConnectOptions,
): Promise<Connection> {
	const { host, model } = target;
	const isEmulated = isInQemu(host);
	const problems = new Problems();
	const sdk = isKept ? undefined : needBoardTools(problems, { isAnyVersion });
	const machine = thisMachine();
	const found = problems.need(
		isEmulated ? findQemu(machine) : findPort(machine, port ?? process.env.UPLOAD_PORT),
	);
	if (problems.areFound || !found) throw problems.asError();
	if (sdk) console.log(`Building the bring-up program for ${model}. The first build takes several minutes.`);
	if (isEmulated) {
		if (sdk) await buildBoard({ ...program, sdk, model, host });
		return openQemu(found.what, host, { onLine, onEnd });
	}
	const onBuilt = () => console.log(`Writing it to the board at ${found.what}.`);
	if (sdk) await flashBoard({ ...program, sdk, model, port: found.what, settings: undefined, onBuilt });
	return SerialPort.open({ path: found.what, onLine });
}

function openQemu(qemu: string, host: string, { onLine, onEnd }: ConnectOptions): Connection {
	mkdirSync(outputFolder, { recursive: true });
	const flash = makeFlashImage(binFolder(outputFolder, host), settingsPartition({}));
	writeFileSync(join(outputFolder, "flash.bin"), flash);
	const { child, stdin, stdout, board } = startQemu({ qemu, folder: outputFolder });
	// QEMU would stop if its messages filled the pipe.
	board.resume();
	createInterface(stdout).on("line", onLine);
	child.on("error", (error) => onEnd(`QEMU failed to start: ${error.message}`));
	child.on("close", (code) => onEnd(`QEMU exited with ${code}`));
	return { write: (line) => void stdin.write(`${line}\n`), close: () => child.kill() };
}

const program = { manifest: bringUpManifest, version: packageVersion(), releaseKeys: "", outputFolder };
