/**
 * The valid tokens: from the environment, else from the data folder, where they are made at the first start. The
 * file is read again when it changes, so that a token can be replaced and revoked while the gateway runs.
 */

import { dirname } from "node:path";
import { type Disk, makeFolder, stateOf } from "../atomic-file.js";
import { errorCode, StartError } from "../start-error.js";
import {
	makeTokens,
	type Role,
	readTokenFile,
	type TokenFile,
	tokenPath,
	writeTokenFile,
} from "./token-file.js";

export interface TokensOptions {
	readonly dataDir: string;
	/** A role's token, or two separated by a comma: the current and the previous one. Undefined: from the file. */
	readonly given: Readonly<Record<Role, string | undefined>>;
	readonly disk: Disk;
	/** The file has become invalid; the last tokens stay valid. */
	readonly onProblem: (sentence: string) => void;
}

export class Tokens {
	readonly #options: TokensOptions;
	readonly #path: string;
	#file: TokenFile | undefined;
	#state: string | undefined;
	#refreshing: Promise<void> | undefined;
	#readAt = Number.NEGATIVE_INFINITY;

	constructor(options: TokensOptions) {
		this.#options = options;
		this.#path = tokenPath(options.dataDir);
	}

	/**
	 * Reads the tokens that were not given, or makes them.
	 * @throws {StartError} if the file is invalid or its folder cannot be used
	 */
	async open(): Promise<void> {
		const { disk } = this.#options;
		if (this.#isGiven()) return this.#requireDifferent();
		try {
			if ((await readTokenFile(disk, this.#path)) === undefined) {
				await makeFolder(disk, dirname(this.#path));
				await writeTokenFile(disk, this.#path, makeTokens());
			}
			await this.#read();
			this.#requireDifferent();
		} catch (error) {
			if (error instanceof StartError) throw error;
			throw new StartError(
				`${this.#path} cannot be read or written (${errorCode(error)}); set DATA_DIR to a folder of this user.`,
			);
		}
	}

	/**
	 * Reads the file if it has changed; to be called before tokens are compared.
	 * @param maxAgeMs how old the last look at the disk may be
	 */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (this.#isGiven() || performance.now() - this.#readAt < maxAgeMs) return;
		this.#readAt = performance.now();
		this.#refreshing ??= this.#read()
			.catch((error: unknown) => this.#report(error))
			.finally(() => {
				this.#refreshing = undefined;
			});
		await this.#refreshing;
	}

	/** A role's valid tokens, the current one first. */
	of(role: Role): readonly string[] {
		const kept = [this.#file?.[role], this.#file?.former?.[role]];
		return this.#options.given[role]?.split(",") ?? kept.filter((token) => token !== undefined);
	}

	current(role: Role): string {
		const [token] = this.of(role);
		if (token === undefined) throw new Error("the tokens are known once they have been opened");
		return token;
	}

	/** A device could control all others with a monitor's token. @throws {StartError} */
	#requireDifferent(): void {
		if (!this.of("device").some((token) => this.of("monitor").includes(token))) return;
		throw new StartError("DEVICE_TOKEN and MONITOR_TOKEN are the same; set one of them to another value.");
	}

	#isGiven(): boolean {
		const { device, monitor } = this.#options.given;
		return device !== undefined && monitor !== undefined;
	}

	async #read(): Promise<void> {
		const { disk } = this.#options;
		const { state } = await stateOf(disk, this.#path);
		if (state === this.#state) return;
		this.#file = (await readTokenFile(disk, this.#path)) ?? this.#file;
		this.#state = state;
	}

	#report(error: unknown): void {
		const why = error instanceof StartError ? error.message : `${this.#path}: ${errorCode(error) ?? error}`;
		if (why === this.#state) return;
		this.#state = why;
		this.#options.onProblem(`${why} Until then the tokens that it last held stay valid.`);
	}
}
