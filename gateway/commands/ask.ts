/** Checks a command that is for many devices. */

import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import { type Ask, type AskName, asks } from "../api/command.js";
import { pick } from "../sessions/device.js";

/** @returns the command without other fields, or a sentence that says what is wrong */
export function readAsk(payload: unknown): { readonly ask: Ask } | { readonly problem: string } {
	const name = isRecord(payload) ? payload.command : undefined;
	if (typeof name !== "string" || !isAskName(name))
		return { problem: `payload: command must be one of ${Object.keys(asks).join(", ")}.` };
	const picked = pick(asks[name], payload);
	if (matches(asks[name], picked)) return { ask: picked };
	return { problem: `payload: ${name}: ${describeProblem(findProblem(asks[name], picked))}.` };
}

function isAskName(name: string): name is AskName {
	return Object.hasOwn(asks, name);
}
