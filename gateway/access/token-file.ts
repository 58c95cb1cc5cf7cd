/**
 * `tokens.json`: the current tokens and, during a rotation (scripts/token-rotation.ts), the previous ones
 * (`former`), so that devices are not locked out before they have the new token.
 */

import { join } from "node:path";
import { type Infer, matches, object, optional, pattern } from "../../device/protocol/schema.js";
import { type Disk, writeFileAtomic } from "../atomic-file.js";
import { errorCode, StartError } from "../start-error.js";
import { makeSecret } from "./secrets.js";

export const roles = Object.freeze(["device", "monitor"] as const);
export type Role = (typeof roles)[number];

/** Long enough not to be guessed, valid in a header, without the comma that separates two. */
export const token = pattern(
	512,
	"^[\\x21-\\x2b\\x2d-\\x7e]{16,}$",
	"16 or more letters, digits or signs without space and comma,",
);
const content = object({
	device: token,
	monitor: token,
	former: optional(object({ device: optional(token), monitor: optional(token) })),
});
export type TokenFile = Infer<typeof content>;

export function tokenPath(dataDir: string): string {
	return join(dataDir, "tokens.json");
}

export function makeTokens(): TokenFile {
	return { device: makeSecret(), monitor: makeSecret() };
}

/**
 * @returns undefined if there is no file
 * @throws {StartError} if it is invalid
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

/** Readable for this user alone. @throws {NodeJS.ErrnoException} */
export async function writeTokenFile(disk: Disk, path: string, file: TokenFile): Promise<void> {
	await writeFileAtomic(disk, path, `${JSON.stringify(file, undefined, "\t")}\n`);
}
