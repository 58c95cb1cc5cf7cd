/** Finds and starts a QEMU with an ESP32-S3 and the model of the boards (hosts/qemu/model). */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { findPrograms, type Machine, ToolError, WrongToolError } from "../command-line/machine.js";

const chip = "esp32s3";
const boardModel = "esp32s3.board";
const install = "build it as in hosts/qemu/model/README.md, and add its folder to the PATH.";

/** Finds a QEMU with the model of the boards on the PATH. @throws {ToolError} */
export function findQemu(machine: Machine): string {
	const programs = findPrograms(machine, "qemu-system-xtensa");
	const qemu = programs.find((file) => machine.run(file, ["-device", `${boardModel},help`]) !== undefined);
	if (qemu) return qemu;
	const [other] = programs;
	if (!other) throw new ToolError("QEMU for the ESP32-S3 not found.", install);
	throw new WrongToolError(`${other} lacks the model of the boards, ${boardModel}.`, install);
}

export interface QemuOptions {
	/** Path of the program. */
	readonly qemu: string;
	/** Folder with flash.bin, which QEMU modifies. QEMU adds efuse.bin and sound.pcm. */
	readonly folder: string;
	/** Whether virtual time follows the executed instructions, 8 ns each, so that a busy computer looks like a slow network only. */
	readonly isDeterministic?: boolean;
}

/** @returns process whose standard input and output are the serial port, and the connection to the model of the board */
export function startQemu({ qemu, folder, isDeterministic = false }: QemuOptions) {
	writeFileSync(join(folder, "efuse.bin"), makeEfuse());
	// QEMU would forward Ctrl-C to the serial port if standard input were a terminal.
	const child = spawn(qemu, [...qemuArguments, ...(isDeterministic ? ["-icount", "shift=3"] : [])], {
		cwd: folder,
		stdio: ["pipe", "pipe", "inherit", "pipe"],
	});
	const {
		stdin,
		stdout,
		stdio: [, , , board],
	} = child;
	if (!stdin || !stdout || !(board instanceof Duplex)) throw new Error("QEMU has no pipes.");
	// The device may restart or QEMU exit during a write.
	stdin.on("error", () => {});
	return { child, stdin, stdout, board };
}

/** MAC address of the emulated chip. */
export const macAddress = "24:6f:28:a1:b2:c3";
/** Length of the fuses in QEMU, and the offset of the MAC address, whose last byte comes first (EFUSE_RD_MAC_SPI_SYS_0_REG). */
const efuseLayout = Object.freeze({ byteLength: 336, macOffset: 0x18 });

function makeEfuse(): Uint8Array {
	const fuses = new Uint8Array(efuseLayout.byteLength);
	fuses.set(Buffer.from(macAddress.replaceAll(":", ""), "hex").reverse(), efuseLayout.macOffset);
	return fuses;
}

export const qemuArguments: readonly string[] = [
	["-display", "none"],
	// "-nographic" would treat byte 1, which occurs in serial packets, as a command to QEMU.
	["-serial", "stdio"],
	["-monitor", "none"],
	["-machine", chip],
	["-m", "8M"],
	["-global", "driver=ssi_psram,property=is_octal,value=true"],
	["-drive", "file=efuse.bin,if=none,format=raw,id=efuse"],
	["-global", "driver=nvram.esp32s3.efuse,property=drive,value=efuse"],
	["-drive", "file=flash.bin,if=mtd,format=raw"],
	["-nic", "user,model=open_eth"],
	// A pipe of Node is a socket in both directions.
	["-chardev", "socket,id=board,fd=3"],
	["-global", `driver=${boardModel},property=chardev,value=board`],
	["-global", `driver=${boardModel},property=pcm,value=sound.pcm`],
].flat();
