/** Writes files to a board's flash with Espressif's esptool, which ESP-IDF v6.0 brings as a module of its Python. */

import { spawn } from "node:child_process";
import { exitCodeOf } from "../command-line/child.js";
import type { BoardChip, FlashFile } from "./flash-image.js";

export interface WriteOptions {
	readonly chip: BoardChip;
	/** Serial port. */
	readonly port: string;
	readonly files: readonly FlashFile[];
	/** After ESP-IDF's export.sh: its Python is the first on the PATH. */
	readonly environment: Readonly<NodeJS.ProcessEnv>;
}

/** As the SDK's UPLOAD_SPEED; the chip's own USB port ignores it. */
const bitsPerSecond = 921_600;

/** As ESP-IDF calls it (components/esptool_py/project_include.cmake). Flash mode and size stay those in the files. */
export function esptoolWords({ chip, port, files }: Omit<WriteOptions, "environment">): readonly string[] {
	const pairs = files.flatMap(({ file, offset }) => [`0x${offset.toString(16)}`, file]);
	const options = ["--chip", chip, "--port", port, "--baud", String(bitsPerSecond)];
	return ["-m", "esptool", ...options, "write-flash", ...pairs];
}

/** @throws Error where the board was not written whole; esptool has printed why */
export async function writeToBoard(options: WriteOptions): Promise<void> {
	const child = spawn("python", esptoolWords(options), {
		env: options.environment,
		stdio: ["ignore", "inherit", "inherit"],
	});
	const code = await exitCodeOf(child);
	if (code !== 0)
		throw new Error(`esptool ended with ${code}: the board was not written whole; flash it again`);
}
