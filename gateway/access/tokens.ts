/**
 * The tokens that count at this moment: those of the environment, else those in the data folder, made at the first start
 * and kept, or else a fleet would be locked out by every restart. The file is read again when it has changed, so that a
 * token can be replaced, and ended, while the gateway runs.
 */

import { dirname } from "node:path";
import { errorCode, StartError } from "../start-error.js";
import { type Disk, makeFolder, stateOf } from "../whole-file.js";
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
	/** A role's token, or two with a comma between: the one in use, and the former one. Undefined: see the file. */
	readonly given: Readonly<Record<Role, string | undefined>>;
	readonly disk: Disk;
	/** The file has become unusable; what it last said stays in force. */
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
	 *
	 * @throws StartError where the file is not as it was written, or its folder cannot be used
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
	 * Takes in what has changed on disk; to be called before tokens are compared.
	 *
	 * @param maxAgeMs how long ago the disk may have been asked last
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

	/** A role's valid tokens, the one to use first. */
	of(role: Role): readonly string[] {
		const kept = [this.#file?.[role], this.#file?.former?.[role]];
		return this.#options.given[role]?.split(",") ?? kept.filter((token) => token !== undefined);
	}

	/** The token to use. */
	current(role: Role): string {
		const [token] = this.of(role);
		if (token === undefined) throw new Error("the tokens are known once they have been opened");
		return token;
	}

	/** Each device would be a monitor, and so steer and update all others. @throws StartError */
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
