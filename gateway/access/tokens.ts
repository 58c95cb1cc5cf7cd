/**
 * Valid tokens, from the environment or `tokens.json`, which is created at the first start and reloaded after a change.
 */

import { dirname, join } from "node:path";
import { type Infer, list, matches, object, oneOf, optional, pattern } from "../../device/protocol/schema.js";
import { tokenName } from "../api/login.js";
import { type PersonRole, personRoles } from "../api/person.js";
import { time } from "../api/time.js";
import { errorCode, RequestError, StartError } from "../problem.js";
import { type Disk, ifExists, makeFolder, stateOf, writeFileAtomic } from "../storage/atomic-file.js";
import { withFileLock } from "../storage/file-lock.js";
import { generateSecret } from "./secrets.js";

export const roles = Object.freeze(["device", "monitor"] as const);
export type Role = (typeof roles)[number];

/** Too long to guess, valid in a header, without commas, which separate tokens. */
export const token = pattern(
	512,
	"^[\\x21-\\x2b\\x2d-\\x7e]{16,}$",
	"at least 16 printable ASCII characters without spaces and commas,",
);
/** Maximum number of named tokens. */
export const maxNamed = 100;
/** Name under which the unnamed monitor token is listed. */
const unnamedName = "monitor";
/** Subfolders of the data folder that are empty at the first start. */
const usedFolders = ["devices", "rollouts", "audit"];

const content = object({
	device: token,
	monitor: token,
	/** Previous tokens during a rotation (scripts/token/rotation.ts), for devices without the new token. */
	previous: optional(object({ device: optional(token), monitor: optional(token) })),
	named: optional(
		list(
			object({
				name: tokenName,
				role: oneOf(...personRoles),
				token,
				/** Time of creation; absent in files of earlier releases. */
				since: optional(time),
			}),
			maxNamed,
		),
	),
	/** Time of the latest rotation; informational. */
	changedAt: optional(time),
});
export type TokenFile = Infer<typeof content>;
type Named = NonNullable<TokenFile["named"]>[number];

export function tokenPath(dataDir: string): string {
	return join(dataDir, "tokens.json");
}

export function generateTokens(): TokenFile {
	return { device: generateSecret(), monitor: generateSecret() };
}

/** @returns undefined if the file is missing @throws {StartError} if it is invalid */
export async function readTokenFile(disk: Disk, path: string): Promise<TokenFile | undefined> {
	const text = await ifExists(disk.readFile(path, "utf8"));
	const file = text === undefined ? undefined : parseTokens(text);
	if (file || text === undefined) return file;
	throw new StartError(
		`${path} does not contain the tokens "device" and "monitor". Delete it to generate new ones.`,
	);
}

/** Parses the token file, ignoring a byte order mark and white space around tokens. @returns undefined if invalid */
export function parseTokens(text: string): TokenFile | undefined {
	try {
		const trim = (_name: string, field: unknown) => (typeof field === "string" ? field.trim() : field);
		const value: unknown = JSON.parse(text.trim(), trim);
		return matches(content, value) ? value : undefined;
	} catch {
		return undefined;
	}
}

/** Writes the token file, readable by its owner only. If run as root, such as by a CLI, the owner is that of the folder. */
export async function writeTokenFile(disk: Disk, path: string, file: TokenFile): Promise<void> {
	await writeFileAtomic(disk, path, `${JSON.stringify(file, undefined, "\t")}\n`);
	if (process.getuid?.() !== 0) return;
	const { uid, gid } = await disk.stat(dirname(path));
	if (uid !== 0) await disk.chown(path, uid, gid);
}

export interface TokensOptions {
	readonly dataDir: string;
	/** Tokens from the environment: the current one, optionally followed by a comma and the previous one. Undefined: from the file. */
	readonly fromEnvironment: Readonly<Record<Role, string | undefined>>;
	readonly disk: Disk;
	/** Called if the file is invalid, in which case the last valid tokens stay in use. */
	readonly onProblem: (sentence: string) => void;
}

export class Tokens {
	/** Called after the file was read for the first time or has changed. */
	onRead: ((file: TokenFile) => void) | undefined;
	/** Path of the file. */
	readonly path: string;
	readonly #options: TokensOptions;
	#file: TokenFile | undefined;
	#state: string | undefined;
	#refreshing: Promise<void> | undefined;
	#readAt = Number.NEGATIVE_INFINITY;

	constructor(options: TokensOptions) {
		this.#options = options;
		this.path = tokenPath(options.dataDir);
	}

	/** Reads or generates the tokens that are not in the environment. @throws {StartError} */
	async open(): Promise<void> {
		if (this.areFromEnvironment) {
			this.#requireDifferent();
			// The file may contain named tokens.
			return this.refresh();
		}
		try {
			if (await this.readFile()) await this.#reload();
			else await this.change(async (file) => file ?? (await this.generate()));
			this.#requireDifferent();
		} catch (error) {
			if (error instanceof StartError) throw error;
			throw new StartError(
				`Cannot read or write ${this.path} (${errorCode(error)}). Set DATA_DIR to a folder owned by this user.`,
			);
		}
	}

	/** Reloads a changed file. Must be called before tokens are compared. @param maxAgeMs skips the check within this time of the last one */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (performance.now() - this.#readAt < maxAgeMs) return;
		this.#readAt = performance.now();
		this.#refreshing ??= this.#reload()
			.catch((error: unknown) => {
				if (this.areFromEnvironment && errorCode(error) === "ENOENT") this.#file = undefined;
				else this.#report(error);
			})
			.finally(() => {
				this.#refreshing = undefined;
			});
		await this.#refreshing;
	}

	/** Returns the tokens of a role, the current one first. */
	of(role: Role): readonly string[] {
		const stored = [this.#file?.[role], this.#file?.previous?.[role]];
		return this.#options.fromEnvironment[role]?.split(",") ?? stored.filter((token) => token !== undefined);
	}

	/** Tokens of people, unnamed ones first. */
	get people(): readonly Named[] {
		const unnamed = this.of("monitor").map(
			(token) => ({ name: unnamedName, role: "monitor", token }) as const,
		);
		return [...unnamed, ...(this.#file?.named ?? [])];
	}

	/** Content of the file; undefined if all tokens are from the environment and none has a name. */
	get file(): TokenFile | undefined {
		return this.#file;
	}

	/** Whether all unnamed tokens are from the environment. */
	get areFromEnvironment(): boolean {
		const { device, monitor } = this.#options.fromEnvironment;
		return device !== undefined && monitor !== undefined;
	}

	/** @returns undefined if the file is missing @throws {StartError} if it is invalid @throws {NodeJS.ErrnoException} */
	readFile(): Promise<TokenFile | undefined> {
		return readTokenFile(this.#options.disk, this.path);
	}

	/** Generates the tokens of a first start. @throws {StartError} if the data folder is not empty, as new tokens would lock out its devices */
	async generate(): Promise<TokenFile> {
		const { disk, dataDir } = this.#options;
		for (const name of usedFolders) {
			const names = await ifExists(disk.readdir(join(dataDir, name)));
			if (!names || names.length === 0) continue;
			throw new StartError(
				`${this.path} is missing, but ${join(dataDir, name)} is not empty. Restore it, or run npm run token -- --new to generate new tokens, which all devices and people then need.`,
			);
		}
		return generateTokens();
	}

	/**
	 * Changes and loads the file, under a lock, as the gateway and commands would otherwise undo each other's changes.
	 * @param next returns the new content; the file is undefined if it is missing, and the last valid one if it is damaged
	 * @throws {StartError} if the first file is invalid @throws {NodeJS.ErrnoException} if it cannot be written @throws what `next` throws
	 */
	async change(next: (file: TokenFile | undefined) => TokenFile | Promise<TokenFile>): Promise<void> {
		const { disk } = this.#options;
		await makeFolder(disk, dirname(this.path));
		await withFileLock(disk, this.path, async () => {
			const file = await this.readFile().catch((error: unknown) => {
				if (this.#file && error instanceof StartError) return this.#file;
				throw error;
			});
			const changed = await next(file);
			if (changed !== file) await writeTokenFile(disk, this.path, changed);
		});
		await this.#reload();
	}

	/** Creates a named token. @returns its secret @throws {RequestError} 409 @throws {NodeJS.ErrnoException} if it cannot be written */
	async add(name: string, role: PersonRole): Promise<string> {
		const token = generateSecret();
		await this.#changeNamed((named) => {
			if ([unnamedName, ...named.map((known) => known.name)].some((known) => isSameName(known, name)))
				throw new RequestError(
					409,
					`A token named ${name} exists. Choose another name, or remove that token first.`,
				);
			if (named.length >= maxNamed)
				throw new RequestError(409, `${maxNamed} named tokens exist, the maximum. Remove one first.`);
			return [...named, { name, role, token, since: Date.now() }];
		});
		return token;
	}

	/** Removes a named token and ends its logins. @throws {RequestError} 404 @throws {NodeJS.ErrnoException} if the file cannot be written */
	async remove(name: string): Promise<void> {
		await this.#changeNamed((named) => {
			if (!named.some((known) => known.name === name))
				throw new RequestError(404, `No removable token is named ${name}.`);
			return named.filter((known) => known.name !== name);
		});
	}

	#changeNamed(next: (named: readonly Named[]) => Named[]): Promise<void> {
		return this.change((file = generateTokens()) => ({ ...file, named: next(file.named ?? []) }));
	}

	current(role: Role): string {
		const [token] = this.of(role);
		if (token === undefined) throw new Error("tokens are not open yet");
		return token;
	}

	/** Requires different tokens, since a device with a monitor token could control others. @throws {StartError} */
	#requireDifferent(): void {
		if (!this.of("device").some((token) => this.of("monitor").includes(token))) return;
		throw new StartError("DEVICE_TOKEN and MONITOR_TOKEN must differ.");
	}

	async #reload(): Promise<void> {
		const { disk } = this.#options;
		const state = await stateOf(disk, this.path);
		if (state === this.#state) return;
		this.#file = (await readTokenFile(disk, this.path)) ?? this.#file;
		this.#state = state;
		if (this.#file) this.onRead?.(this.#file);
	}

	#report(error: unknown): void {
		const why = error instanceof StartError ? error.message : `${this.path}: ${errorCode(error) ?? error}`;
		if (why === this.#state) return;
		this.#state = why;
		this.#options.onProblem(`${why} The last valid tokens stay in use.`);
	}
}

/** Ignores case, since people would not distinguish Anna from anna in the audit log. */
function isSameName(a: string, b: string): boolean {
	return a.toLowerCase() === b.toLowerCase();
}
