/** Checks a command that is for many devices. */

import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import { type Ask, type AskName, asks } from "../api/command.js";
import { pick } from "../json.js";
import { HttpProblem } from "../problem.js";

/** @throws {HttpProblem} 422 */
export function readAsk(payload: unknown): Ask {
	const name = isRecord(payload) ? payload.command : undefined;
	if (typeof name !== "string" || !isAskName(name))
		throw new HttpProblem(422, `payload: command must be one of ${Object.keys(asks).join(", ")}.`);
	const picked = pick(asks[name], payload);
	if (matches(asks[name], picked)) return picked;
	throw new HttpProblem(422, `payload: ${name}: ${describeProblem(findProblem(asks[name], picked))}.`);
}

function isAskName(name: string): name is AskName {
	return Object.hasOwn(asks, name);
}
