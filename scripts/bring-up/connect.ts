/** Brings the bring-up program onto a board, or into QEMU, and connects with it. */

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { binFolder, buildBoard } from "../boards/build.js";
import { flashBoard } from "../boards/flash-board.js";
import { makeFlashImage, settingsPartition } from "../boards/flash-image.js";
import { SerialPort } from "../boards/serial.js";
import { choosePort, findPorts, missingIdf } from "../boards/tools.js";
import { thisMachine } from "../command-line/machine.js";
import { Problems } from "../command-line/problems.js";
import { packageVersion, projectFolder } from "../command-line/project.js";
import { findModdableSdk } from "../moddable/sdk.js";
import { findQemu, qemuArguments } from "../qemu/tools.js";
import type { BringUpArguments } from "./arguments.js";
import type { SerialLine } from "./board.js";
import type { Target } from "./targets.js";

const outputFolder = join(projectFolder, ".cache", "bring-up");

export interface Connection extends SerialLine {
	close(): void;
}

export interface ConnectOptions {
	readonly onLine: (line: string) => void;
	/** The connection has ended by itself. */
	readonly onEnd: (reason: string) => void;
}

/** Builds and writes the program, unless it is kept. @throws Error that names everything that is missing */
export function connect(given: BringUpArguments, options: ConnectOptions): Promise<Connection> {
	return given.target.host === "qemu" ? startQemu(given, options) : openBoard(given, options);
}

async function openBoard(given: BringUpArguments, options: ConnectOptions): Promise<Connection> {
	const { target, isKept } = given;
	const problems = new Problems();
	const machine = thisMachine();
	const sdk = isKept ? undefined : problems.attempt(() => findModdableSdk(given));
	if (!isKept) problems.add(missingIdf(machine, given));
	const chosen = choosePort(given.port ?? process.env.UPLOAD_PORT, findPorts(machine.list));
	if ("problem" in chosen) problems.add(chosen.problem);
	if (problems.areFound || "problem" in chosen) throw problems.asError();
	const { port } = chosen;
	if (sdk) {
		console.log(`Building the bring-up program of ${target.model}; the first time takes several minutes.`);
		await flashBoard({
			...build(target),
			sdk,
			port,
			settings: undefined,
			onBuilt: () => console.log(`Writing it to the board at ${port}.`),
		});
	}
	return SerialPort.open({ path: port, onLine: options.onLine });
}

async function startQemu(given: BringUpArguments, { onLine, onEnd }: ConnectOptions): Promise<Connection> {
	const { target, isKept } = given;
	const problems = new Problems();
	const sdk = problems.attempt(() => findModdableSdk(given));
	problems.add(missingIdf(thisMachine(), given));
	const qemu = problems.attempt(() => findQemu(process.env));
	if (problems.areFound || !sdk || !qemu) throw problems.asError();
	if (!isKept) await buildBoard({ ...build(target), sdk, host: target.host });
	const built = {
		chip: "esp32",
		folder: binFolder(outputFolder, target.host),
		partitionsFile: target.partitionsFile,
	} as const;
	const flashFile = join(outputFolder, "flash.bin");
	mkdirSync(outputFolder, { recursive: true });
	writeFileSync(
		flashFile,
		makeFlashImage(built, settingsPartition(target.partitionsFile, {}), target.flashMB * 1024 * 1024),
	);
	const child = spawn(qemu, qemuArguments(flashFile), { stdio: ["pipe", "pipe", "inherit"] });
	createInterface(child.stdout).on("line", onLine);
	child.on("error", (error) => onEnd(`QEMU does not start: ${error.message}`));
	child.on("close", (code) => onEnd(`QEMU ended with ${code}`));
	// QEMU may end while a line is on its way.
	child.stdin.on("error", () => {});
	return { write: (line) => void child.stdin.write(`${line}\n`), close: () => child.kill() };
}

function build({ model, manifest }: Target) {
	return {
		model,
		manifest,
		version: packageVersion(),
		releaseKeys: "",
		outputFolder,
		onOutput: (text: string) => process.stdout.write(text),
	};
}
