/** Readable texts of a device's health: crashes, memory and signal. */

import type { CrashKind } from "../../../../device/protocol/messages.js";
import { entryOf } from "../../../../device/protocol/schema.js";
import { signalBars } from "../../../api/client/words.js";
import type { PastMark } from "../../../api/device.js";
import { resetText, updateWords } from "../../../api/statuses.js";

export const crashWords: Readonly<Record<CrashKind, string>> = {
	exception: "Uncaught exception",
	rejection: "Unhandled rejection",
	out_of_memory: "Out of memory",
	watchdog: "Watchdog",
	panic: "Panic",
	brown_out: "Brown-out",
	unknown: "Unknown cause",
};

/** Describes an event of the history, such as "Update to 1.4.0: rolled back". */
export function markText({ kind, reason, version }: PastMark): string {
	if (kind === "restart") return `Restart: ${resetText(reason)}`;
	if (kind === "crash") return `Crash: ${lookUp(crashWords, reason).toLowerCase()}`;
	return `${version === null ? "Update" : `Update to ${version}`}: ${lookUp(updateWords, reason)}`;
}

/**
 * Free memory for an update over TLS, in bytes: 16 KB for one block in lwIP's receive buffer (in QEMU free memory fell from 60.4 to
 * 44.4 KB), plus 4 KB for a report and a command. TLS itself uses the XS heap, which is allocated at the start.
 */
const tightBytes = 20 * 1024;
/** Free memory below which a connection may fail, in bytes: lwIP buffers up to 4 KB of server certificates, and a report is copied. */
const lowBytes = 8 * 1024;

/** Rates the free memory. @param leastBytes minimum since the start */
export function memoryText(leastBytes: number): "fine" | "tight" | "low" {
	if (leastBytes < lowBytes) return "low";
	return leastBytes < tightBytes ? "tight" : "fine";
}

/** Rates the signal. @param dBm as for `signalBars` */
export function signalText(dBm: number): string {
	return ["weak", "fair", "good", "strong"][signalBars(dBm) - 1] ?? "weak";
}

export function lookUp(words: Readonly<Record<string, string>>, name: string): string {
	return entryOf(words, name) ?? name;
}
