/**
 * Valid tokens, from the environment or from `tokens.json`, which is created at the first start and reloaded when it
 * changes.
 */

import { dirname, join } from "node:path";
import { type Infer, list, matches, object, oneOf, optional, pattern } from "../../device/protocol/schema.js";
import { tokenName } from "../api/login.js";
import { type PersonRole, personRoles } from "../api/person.js";
import { time } from "../api/time.js";
import { errorCode, RequestError, StartError } from "../problem.js";
import { type Disk, ifExists, makeFolder, stateOf, writeFileAtomic } from "../storage/atomic-file.js";
import { makeSecret } from "./secrets.js";

export const roles = Object.freeze(["device", "monitor"] as const);
export type Role = (typeof roles)[number];

/** Too long to guess, valid in a header, without the separating comma. */
export const token = pattern(
	512,
	"^[\\x21-\\x2b\\x2d-\\x7e]{16,}$",
	"16 or more letters, digits or signs without space and comma,",
);
const namedAtMost = 100;
/** How the monitor token, which has no name, is listed. */
const unnamedName = "monitor";
/** In the data folder; with something in them it is not the first start. */
const usedFolders = ["devices", "rollouts", "audit"];

const content = object({
	device: token,
	monitor: token,
	/** During a rotation (scripts/token/rotation.ts), for devices without the new token. */
	previous: optional(object({ device: optional(token), monitor: optional(token) })),
	named: optional(
		list(
			object({
				name: tokenName,
				role: oneOf(...personRoles),
				token,
				/** When it was made; absent in files of earlier releases. */
				since: optional(time),
			}),
			namedAtMost,
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

export function makeTokens(): TokenFile {
	return { device: makeSecret(), monitor: makeSecret() };
}

/** @returns undefined if there is no file @throws {StartError} if it is invalid */
export async function readTokenFile(disk: Disk, path: string): Promise<TokenFile | undefined> {
	try {
		const file = parseTokens(await disk.readFile(path, "utf8"));
		if (file) return file;
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		if (!(error instanceof SyntaxError)) throw error;
	}
	throw new StartError(
		`${path} does not contain the tokens "device" and "monitor". Delete it to generate new ones.`,
	);
}

/** Editors add a byte order mark, and pasting adds space around a token. @returns undefined if it is invalid @throws {SyntaxError} */
export function parseTokens(text: string): TokenFile | undefined {
	const value: unknown = JSON.parse(text.trim(), (_name, each) =>
		typeof each === "string" ? each.trim() : each,
	);
	return matches(content, value) ? value : undefined;
}

/** Readable for this user only; for the folder's owner where root writes it, such as a command beside a gateway of systemd. */
export async function writeTokenFile(disk: Disk, path: string, file: TokenFile): Promise<void> {
	await writeFileAtomic(disk, path, `${JSON.stringify(file, undefined, "\t")}\n`);
	if (process.getuid?.() !== 0) return;
	const { uid, gid } = await disk.stat(dirname(path));
	if (uid !== 0) await disk.chown(path, uid, gid);
}

export interface TokensOptions {
	readonly dataDir: string;
	/** The current token, or with a comma the previous one too. Undefined: from the file. */
	readonly given: Readonly<Record<Role, string | undefined>>;
	readonly disk: Disk;
	/** The file is invalid; the last tokens stay valid. */
	readonly onProblem: (sentence: string) => void;
}

export class Tokens {
	/** The file was read for the first time, or has changed. */
	onRead: ((file: TokenFile) => void) | undefined;
	readonly #options: TokensOptions;
	readonly #path: string;
	#file: TokenFile | undefined;
	#state: string | undefined;
	#refreshing: Promise<void> | undefined;
	#readAt = Number.NEGATIVE_INFINITY;
	#changing: Promise<void> = Promise.resolve();

	constructor(options: TokensOptions) {
		this.#options = options;
		this.#path = tokenPath(options.dataDir);
	}

	/** Reads or makes the tokens that were not given. @throws {StartError} */
	async open(): Promise<void> {
		const { disk } = this.#options;
		if (this.areGiven) {
			this.#requireDifferent();
			// It may have tokens with names.
			return this.refresh();
		}
		try {
			if ((await readTokenFile(disk, this.#path)) === undefined) {
				const made = await this.make();
				await makeFolder(disk, dirname(this.#path));
				await writeTokenFile(disk, this.#path, made);
			}
			await this.#reload();
			this.#requireDifferent();
		} catch (error) {
			if (error instanceof StartError) throw error;
			throw new StartError(
				`Cannot read or write ${this.#path} (${errorCode(error)}). Set DATA_DIR to a folder owned by this user.`,
			);
		}
	}

	/** Reads a changed file; call it before tokens are compared. @param maxAgeMs since the last read */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (performance.now() - this.#readAt < maxAgeMs) return;
		this.#readAt = performance.now();
		this.#refreshing ??= this.#reload()
			.catch((error: unknown) => {
				if (this.areGiven && errorCode(error) === "ENOENT") this.#file = undefined;
				else this.#report(error);
			})
			.finally(() => {
				this.#refreshing = undefined;
			});
		await this.#refreshing;
	}

	/** The current token first. */
	of(role: Role): readonly string[] {
		const kept = [this.#file?.[role], this.#file?.previous?.[role]];
		return this.#options.given[role]?.split(",") ?? kept.filter((token) => token !== undefined);
	}

	/** Those of people, which end with their removal; first those without a name. */
	get people(): readonly Named[] {
		const unnamed = this.of("monitor").map(
			(token) => ({ name: unnamedName, role: "monitor", token }) as const,
		);
		return [...unnamed, ...(this.#file?.named ?? [])];
	}

	/** Undefined if all tokens are given, and none has a name. */
	get file(): TokenFile | undefined {
		return this.#file;
	}

	/** Whether none comes from the file, except those with names. */
	get areGiven(): boolean {
		const { device, monitor } = this.#options.given;
		return device !== undefined && monitor !== undefined;
	}

	/** @returns undefined if there is no file @throws {StartError} if it is invalid @throws {NodeJS.ErrnoException} */
	readFile(): Promise<TokenFile | undefined> {
		return readTokenFile(this.#options.disk, this.#path);
	}

	/** For a first start. @throws {StartError} if the folder is in use already: no device would be let in with new tokens */
	async make(): Promise<TokenFile> {
		const { disk, dataDir } = this.#options;
		for (const name of usedFolders) {
			const names = await ifExists(disk.readdir(join(dataDir, name)));
			if (!names || names.length === 0) continue;
			throw new StartError(
				`${this.#path} is missing, but ${join(dataDir, name)} is not empty. Restore it, or run npm run token -- --new to generate new tokens, which all devices and people then need.`,
			);
		}
		return makeTokens();
	}

	/** Takes in tokens that another process has written. @throws {NodeJS.ErrnoException} */
	async replace(file: TokenFile): Promise<void> {
		await makeFolder(this.#options.disk, dirname(this.#path));
		await writeTokenFile(this.#options.disk, this.#path, file);
		await this.#reload();
	}

	/** @returns the secret of a new token @throws {RequestError} 409 @throws {NodeJS.ErrnoException} it is not written */
	async add(name: string, role: PersonRole): Promise<string> {
		const token = makeSecret();
		await this.#changeNamed((named) => {
			if (named.some((each) => each.name === name) || name === unnamedName)
				throw new RequestError(409, `There is a token ${name}; choose another name, or remove that first.`);
			if (named.length >= namedAtMost)
				throw new RequestError(409, `There are ${namedAtMost} tokens with names; remove one first.`);
			return [...named, { name, role, token, since: Date.now() }];
		});
		return token;
	}

	/** Ends a token, and the logins by it. @throws {RequestError} 404 @throws {NodeJS.ErrnoException} it is not written */
	async remove(name: string): Promise<void> {
		await this.#changeNamed((named) => {
			if (!named.some((each) => each.name === name))
				throw new RequestError(404, `There is no token ${name} that can be removed.`);
			return named.filter((each) => each.name !== name);
		});
	}

	/** One change after another: each writes the whole file. */
	async #changeNamed(next: (named: readonly Named[]) => Named[]): Promise<void> {
		const change = this.#changing.then(async () => {
			const file = (await this.readFile()) ?? makeTokens();
			await this.replace({ ...file, named: next(file.named ?? []) });
		});
		this.#changing = change.catch(() => {});
		await change;
	}

	/** Has the next look at the file read it, also if it has not changed. */
	forgetState(): void {
		this.#state = undefined;
	}

	current(role: Role): string {
		const [token] = this.of(role);
		if (token === undefined) throw new Error("the tokens are known once they have been opened");
		return token;
	}

	/** Requires different tokens, since a device with a monitor token could control others. @throws {StartError} */
	#requireDifferent(): void {
		if (!this.of("device").some((token) => this.of("monitor").includes(token))) return;
		throw new StartError("DEVICE_TOKEN and MONITOR_TOKEN must differ.");
	}

	async #reload(): Promise<void> {
		const { disk } = this.#options;
		const { state } = await stateOf(disk, this.#path);
		if (state === this.#state) return;
		this.#file = (await readTokenFile(disk, this.#path)) ?? this.#file;
		this.#state = state;
		if (this.#file) this.onRead?.(this.#file);
	}

	#report(error: unknown): void {
		const why = error instanceof StartError ? error.message : `${this.#path}: ${errorCode(error) ?? error}`;
		if (why === this.#state) return;
		this.#state = why;
		this.#options.onProblem(`${why} Until then the tokens that it last held stay valid.`);
	}
}
