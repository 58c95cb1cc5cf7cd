/**
 * The signature of a crash: what crashes of one cause have in common, on any device and in any version. Lines of the source, addresses
 * and numbers differ between them, so they are no part of it.
 */

import { createHash } from "node:crypto";
import type { Crash } from "../../device/protocol/messages.js";

export interface Signature {
	/** 16 hexadecimal digits: of the kind, the message and the frames. */
	readonly id: string;
	/** With `#` for each number, address and hexadecimal text. */
	readonly message: string;
	/** At most 3, innermost first: `function (file)`, or the file alone. */
	readonly frames: readonly string[];
}

const framesAtMost = 3;
const varying = new RegExp(
	[
		/0x[0-9a-f]+/,
		/** A UUID. */
		/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/,
		/** An address of a network interface. */
		/\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){3,}\b/,
		/[-+]?\b\d+(?:[.:]\d+)*(?:e[-+]?\d+)?\b/,
		/** A word of hexadecimal digits; without a decimal one it may be a word of a language, unless it is long. */
		/\b(?:[0-9a-f]{8,}|(?=[a-f]*\d)[0-9a-f]+)\b/,
		/[-+]?\d+/,
	]
		.map(({ source }) => source)
		.join("|"),
	"gi",
);
/** `at function (file:line)` or `at file:line`. */
const frameLine = /^\s*at (?:(.+) \()?([^\s()]+?)(?::\d+)*\)?$/;
const ownFile = /^(?:device|hosts)\//;

/** @param crash its `stack` may have lines of other forms, such as program counters: they are left out */
export function signatureOf({
	kind,
	message: text,
	file,
	stack,
}: Pick<Crash, "kind" | "message" | "file" | "stack">): Signature {
	const message = text.replace(varying, "#");
	const frames = stack.split("\n").flatMap((line) => {
		const [, name, path = ""] = frameLine.exec(line) ?? [];
		if (!ownFile.test(path)) return [];
		return [name === undefined ? path : `${name} (${path})`];
	});
	if (frames.length === 0 && file !== undefined) frames.push(file);
	const top = frames.slice(0, framesAtMost);
	const digest = createHash("sha256").update(JSON.stringify([kind, message, top]));
	return { id: digest.digest("hex").slice(0, 16), message, frames: top };
}
