/**
 * `tokens.json`: the tokens in force, and while one is being replaced the former one too. Without the former one there
 * would be a moment, from the rotation to the last device that has learnt the new token, in which a fleet is locked out.
 */

import { join } from "node:path";
import { formed, matches, object, optional, type Value } from "../../device/protocol/schema.js";
import { errorCode, StartError } from "../start-error.js";
import { type Disk, writeWhole } from "../whole-file.js";
import { makeSecret } from "./secrets.js";

export const roles = Object.freeze(["device", "monitor"] as const);
export type Role = (typeof roles)[number];

/** What a token looks like: long enough not to be guessed, fit for a header, without the comma that separates two. */
export const token = formed(
	512,
	"^[\\x21-\\x2b\\x2d-\\x7e]{16,}$",
	"16 or more letters, digits or signs without space and comma,",
);
const content = object({
	device: token,
	monitor: token,
	former: optional(object({ device: optional(token), monitor: optional(token) })),
});
export type TokenFile = Value<typeof content>;

export function tokenPath(dataDir: string): string {
	return join(dataDir, "tokens.json");
}

/** New tokens for both. */
export function makeTokens(): TokenFile {
	return { device: makeSecret(), monitor: makeSecret() };
}

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

/**
 * @returns undefined where there is no file
 * @throws StartError where it is not as it was written
 * @throws {NodeJS.ErrnoException}
 */
export async function readTokenFile(disk: Disk, path: string): Promise<TokenFile | undefined> {
	try {
		const value: unknown = JSON.parse(await disk.readFile(path, "utf8"));
		if (matches(content, value)) return value;
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		if (!(error instanceof SyntaxError)) throw error;
	}
	throw new StartError(
		`${path} does not hold the tokens "device" and "monitor"; delete it to have new ones made.`,
	);
}

/** For this user's eyes only. @throws {NodeJS.ErrnoException} */
export async function writeTokenFile(disk: Disk, path: string, file: TokenFile): Promise<void> {
	await writeWhole(disk, path, `${JSON.stringify(file, undefined, "\t")}\n`);
}
