/**
 * How one set of tokens follows another. While a token is being replaced the former one stays valid, or a fleet would be
 * locked out from the rotation to the last device that has learnt the new one.
 */

import { makeTokens, type Role, type TokenFile } from "../../gateway/access/token-file.js";
import { StartError } from "../../gateway/start-error.js";

/** @throws StartError where one of them is being replaced already: the token before it would end unasked */
export function rotate(file: TokenFile, which: readonly Role[]): TokenFile {
	const unfinished = which.find((role) => file.former?.[role] !== undefined);
	if (unfinished)
		throw new StartError(
			`The former ${unfinished} token is still valid; retire it first: npm run token -- --retire ${unfinished}`,
		);
	const pick = (from: TokenFile) => Object.fromEntries(which.map((role) => [role, from[role]]));
	return { ...file, ...pick(makeTokens()), former: { ...file.former, ...pick(file) } };
}

/** Ends what `rotate` left valid. */
export function retire(file: TokenFile, which: readonly Role[]): TokenFile {
	const kept = Object.entries(file.former ?? {}).filter(([name]) => which.every((role) => role !== name));
	const { former: _, ...current } = file;
	return kept.length === 0 ? current : { ...current, former: Object.fromEntries(kept) };
}
