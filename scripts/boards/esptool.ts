/** Writes files to a board's flash with Espressif's esptool, a Python module of ESP-IDF v6.0. */

import { spawn } from "node:child_process";
import { exitCodeOf } from "../command-line/child.js";
import type { BoardChip, FlashFile } from "./flash-image.js";

export interface WriteOptions {
	readonly chip: BoardChip;
	/** Serial port. */
	readonly port: string;
	readonly files: readonly FlashFile[];
	/** With ESP-IDF's Python first on the PATH. */
	readonly environment: Readonly<NodeJS.ProcessEnv>;
}

/** The SDK's UPLOAD_SPEED; ignored by the chip's own USB port. */
const bitsPerSecond = 921_600;

/** As in ESP-IDF's components/esptool_py/project_include.cmake; flash mode and size are those in the files. */
function esptoolWords({ chip, port, files }: Omit<WriteOptions, "environment">): readonly string[] {
	const pairs = files.flatMap(({ file, offset }) => [`0x${offset.toString(16)}`, file]);
	const options = ["--chip", chip, "--port", port, "--baud", String(bitsPerSecond)];
	return ["-m", "esptool", ...options, "write-flash", ...pairs];
}

/** @throws Error where the board is not fully written; esptool prints why */
export async function writeToBoard(options: WriteOptions): Promise<void> {
	const child = spawn("python", esptoolWords(options), {
		env: options.environment,
		stdio: ["ignore", "inherit", "inherit"],
	});
	const code = await exitCodeOf(child);
	if (code !== 0)
		throw new Error(`esptool ended with ${code}: the board is not fully written; flash it again`);
}
