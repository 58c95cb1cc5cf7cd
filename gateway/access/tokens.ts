/**
 * The two secrets of a gateway: what devices show and what monitors show. Made at the first start and kept, or else a
 * fleet would be locked out by every restart.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
	closeSync,
	fsyncSync,
	mkdirSync,
	openSync,
	readFileSync,
	renameSync,
	rmSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { formed, matches, object } from "../../device/protocol/schema.js";
import { errorCode, StartError } from "../start-error.js";

export type Role = "device" | "monitor";
export type Tokens = Readonly<Record<Role, string>>;
type Given = Readonly<Record<Role, string | undefined>>;

/** What a token looks like: long enough not to be guessed, and fit for a header. */
export const token = formed(
	512,
	"^[\\x21-\\x7e]{16,}$",
	"16 or more letters, digits or signs without a space,",
);
const tokensFile = object({ device: token, monitor: token });

/**
 * The tokens of this gateway. Those that are not given are read from `<dataDir>/tokens.json`, which is made if missing.
 *
 * @throws StartError where that file is not as it was written
 */
export function loadTokens(options: { dataDir: string; given: Given }): Tokens {
	const { device, monitor } = options.given;
	if (device !== undefined && monitor !== undefined) return { device, monitor };
	const path = join(options.dataDir, "tokens.json");
	try {
		const kept = readTokens(path) ?? makeTokens(path, options.dataDir);
		return { device: device ?? kept.device, monitor: monitor ?? kept.monitor };
	} catch (error) {
		if (error instanceof StartError) throw error;
		throw new StartError(
			`${path} cannot be read or written (${errorCode(error)}); set DATA_DIR to a folder of this user.`,
		);
	}
}

/** Whether two secrets are equal, in a time that says nothing about where they differ. */
export function equalSecrets(a: string, b: string): boolean {
	return timingSafeEqual(digest(a), digest(b));
}

/** A secret of 256 bits, fit for a URL. */
export function makeSecret(): string {
	return randomBytes(32).toString("base64url");
}

function readTokens(path: string): Tokens | undefined {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
	try {
		const value: unknown = JSON.parse(text);
		if (matches(tokensFile, value)) return { device: value.device, monitor: value.monitor };
	} catch {
		// Not JSON: said below, without the text of it.
	}
	throw new StartError(
		`${path} does not hold the tokens "device" and "monitor"; delete it to have new ones made.`,
	);
}

/** Written whole or not at all: temporary file, fsync, rename. */
function makeTokens(path: string, dataDir: string): Tokens {
	const tokens = { device: makeSecret(), monitor: makeSecret() };
	mkdirSync(dataDir, { recursive: true });
	const temporary = `${path}.new`;
	rmSync(temporary, { force: true });
	const file = openSync(temporary, "wx", 0o600);
	try {
		writeSync(file, `${JSON.stringify(tokens, undefined, "\t")}\n`);
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
	renameSync(temporary, path);
	return tokens;
}

function digest(secret: string): Buffer {
	return createHash("sha256").update(secret).digest();
}
