/**
 * Signature of a crash: the properties that crashes with the same cause share across devices and versions.
 * Source lines, addresses and numbers vary and are excluded.
 */

import type { Crash } from "../../device/protocol/messages.js";
import { idOf } from "../digest.js";

export interface Signature {
	/** 16 hexadecimal digits: hash of kind, frames, and the message without numbers, addresses and hexadecimal texts. */
	readonly id: string;
	/** Up to 3 innermost frames: `function (file)`, or only the file. */
	readonly frames: readonly string[];
}

const maxFrames = 3;
const varying = new RegExp(
	[
		/0x[0-9a-f]+/,
		/** UUID. */
		/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/,
		/** MAC address. */
		/\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){3,}\b/,
		/[-+]?\b\d+(?:[.:]\d+)*(?:e[-+]?\d+)?\b/,
		/** Hexadecimal word. A short one without a decimal digit is excluded, as it may be an English word. */
		/\b(?:[0-9a-f]{8,}|(?=[a-f]*\d)[0-9a-f]+)\b/,
		/[-+]?\d+/,
	]
		.map(({ source }) => source)
		.join("|"),
	"gi",
);
/** Line `at function (file:line)` or `at file:line`. */
const frameLine = /^\s*at (?:(.+) \()?([^\s()]+?)(?::\d+)*\)?$/;
const ownFile = /^(?:device|hosts)\//;

/** @param crash other lines of its `stack`, such as program counters, are ignored */
export function signatureOf({
	kind,
	message,
	file,
	stack,
}: Pick<Crash, "kind" | "message" | "file" | "stack">): Signature {
	const frames = stack.split("\n").flatMap((line) => {
		const [, name, path = ""] = frameLine.exec(line) ?? [];
		if (!ownFile.test(path)) return [];
		return [name === undefined ? path : `${name} (${path})`];
	});
	if (frames.length === 0 && file !== undefined) frames.push(file);
	const top = frames.slice(0, maxFrames);
	return { id: idOf(JSON.stringify([kind, message.replace(varying, "#"), top])), frames: top };
}
