/** How a device fares, as people say it. */

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
	unknown: "Unknown end",
};

/** "Restart: switched on", "Update to 1.4.0: rolled back" */
export function markText({ kind, reason, version }: PastMark): string {
	if (kind === "restart") return `Restart: ${resetText(reason)}`;
	if (kind === "crash") return `Crash: ${lookUp(crashWords, reason).toLowerCase()}`;
	return `${version === null ? "Update" : `Update to ${version}`}: ${lookUp(updateWords, reason)}`;
}

/**
 * In bytes. An update over TLS takes 16 KB: in QEMU free memory fell from 60.4 to 44.4 KB. That is one block, which waits in lwIP to be
 * read; TLS works in the XS heap, which is allocated at the start. 4 KB more are for a report and a command meanwhile.
 */
const tightBytes = 20 * 1024;
/** Below this a new connection may fail: the server's certificates, of up to 4 KB, wait in lwIP too, and a report is copied for it. */
const lowBytes = 8 * 1024;

/** How much memory is left. @param leastBytes the least that was free since its start */
export function memoryText(leastBytes: number): "fine" | "tight" | "low" {
	if (leastBytes < lowBytes) return "low";
	return leastBytes < tightBytes ? "tight" : "fine";
}

/** @param dBm as for `signalBars` */
export function signalText(dBm: number): string {
	return ["weak", "fair", "good", "strong"][signalBars(dBm) - 1] ?? "weak";
}

export function lookUp(words: Readonly<Record<string, string>>, name: string): string {
	return entryOf(words, name) ?? name;
}
