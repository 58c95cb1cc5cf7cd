/** Replaces tokens in two steps, so that devices can learn the new token while the previous one is still valid. */

import { makeTokens, type Role, type TokenFile } from "../../gateway/access/token-file.js";
import { StartError } from "../../gateway/start-error.js";

/** Makes new tokens; the previous ones stay valid. @throws StartError where one of them is being replaced already */
export function rotate(file: TokenFile, which: readonly Role[]): TokenFile {
	const unfinished = which.find((role) => file.former?.[role] !== undefined);
	if (unfinished)
		throw new StartError(
			`The previous ${unfinished} token is still valid; retire it first: npm run token -- --retire ${unfinished}`,
		);
	const pick = (from: TokenFile) => Object.fromEntries(which.map((role) => [role, from[role]]));
	return { ...file, ...pick(makeTokens()), former: { ...file.former, ...pick(file) } };
}

/** Ends the previous tokens. */
export function retire(file: TokenFile, which: readonly Role[]): TokenFile {
	const kept = Object.entries(file.former ?? {}).filter(([name]) => which.every((role) => role !== name));
	const { former: _, ...current } = file;
	return kept.length === 0 ? current : { ...current, former: Object.fromEntries(kept) };
}
