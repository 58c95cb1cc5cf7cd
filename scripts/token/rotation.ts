/** Token rotation in two steps: the previous token stays valid until it is retired. */

import { generateTokens, type Role, type TokenFile } from "../../gateway/access/tokens.js";
import { StartError } from "../../gateway/problem.js";

/** @throws StartError if the previous rotation is not finished */
export function rotate(file: TokenFile, which: readonly Role[]): TokenFile {
	const unfinished = which.find((role) => file.previous?.[role] !== undefined);
	if (unfinished)
		throw new StartError(
			`The previous ${unfinished} token is still valid. Retire it first:  npm run token -- --retire ${unfinished}`,
		);
	const pick = (from: TokenFile) => Object.fromEntries(which.map((role) => [role, from[role]]));
	return changed({ ...file, ...pick(generateTokens()), previous: { ...file.previous, ...pick(file) } });
}

/** Revokes the previous tokens. */
export function retire(file: TokenFile, which: readonly Role[]): TokenFile {
	const kept = Object.entries(file.previous ?? {}).filter(([name]) => which.every((role) => role !== name));
	const { previous: _, ...current } = file;
	return changed(kept.length === 0 ? current : { ...current, previous: Object.fromEntries(kept) });
}

function changed(file: TokenFile): TokenFile {
	return { ...file, changedAt: Math.max(Date.now(), (file.changedAt ?? 0) + 1) };
}
