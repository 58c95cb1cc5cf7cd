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
import { bringUpManifest, outputFolder, type Target } from "./targets.js";

export interface Connection extends SerialLine {
	close(): void;
}

interface ConnectOptions {
	readonly onLine: (line: string) => void;
	/** Called when the connection ends unexpectedly. */
	readonly onEnd: (reason: string) => void;
}

/** Builds and flashes the program, unless it is kept. @throws Error with all missing prerequisites */
export function connect(request: BringUpArguments, options: ConnectOptions): Promise<Connection> {
	return isInQemu(request.target.host) ? openQemu(request, options) : openBoard(request, options);
}

async function openBoard(request: BringUpArguments, { onLine }: ConnectOptions): Promise<Connection> {
	const { target, isKept } = request;
	const problems = new Problems();
	const sdk = isKept ? undefined : needBoardTools(problems, request);
	const found = problems.need(findPort(thisMachine(), request.port ?? process.env.UPLOAD_PORT));
	if (problems.areFound || !found) throw problems.asError();
	const { what: port } = found;
	if (sdk) {
		console.log(`Building the bring-up program for ${target.model}. The first build takes several minutes.`);
		const onBuilt = () => console.log(`Writing it to the board at ${port}.`);
		await flashBoard({ ...build(target), sdk, port, settings: undefined, onBuilt });
	}
	return SerialPort.open({ path: port, onLine });
}

async function openQemu(request: BringUpArguments, { onLine, onEnd }: ConnectOptions): Promise<Connection> {
	const { target, isKept } = request;
	const problems = new Problems();
	const sdk = isKept ? undefined : needBoardTools(problems, request);
	const found = problems.need(findQemu(thisMachine()));
	if (problems.areFound || !found) throw problems.asError();
	if (sdk) await buildBoard({ ...build(target), sdk, host: target.host });
	const flashFile = join(outputFolder, "flash.bin");
	mkdirSync(outputFolder, { recursive: true });
	writeFileSync(flashFile, makeFlashImage(binFolder(outputFolder, target.host), settingsPartition({})));
	const { child, stdin, stdout, board } = startQemu({ qemu: found.what, folder: outputFolder });
	// QEMU would stop if its messages filled the pipe.
	board.resume();
	createInterface(stdout).on("line", onLine);
	child.on("error", (error) => onEnd(`QEMU failed to start: ${error.message}`));
	child.on("close", (code) => onEnd(`QEMU exited with ${code}`));
	return { write: (line) => void stdin.write(`${line}\n`), close: () => child.kill() };
}

function build({ model }: Target) {
	return {
		model,
		manifest: bringUpManifest,
		version: packageVersion(),
		releaseKeys: "",
		outputFolder,
	};
}
