/** Login cookies that were ended by logging out, on disk until they expire: a copy still has a valid signature. */

import { join } from "node:path";
import { matches, object, optional } from "../../device/protocol/schema.js";
import { errorCode } from "../problem.js";
import { type Disk, writeFileAtomic } from "../storage/atomic-file.js";
import { time } from "../storage/time.js";

const endedAtMost = 1000;
const content = object({ endedBefore: optional(time), ended: object({}) });

export interface EndedLoginsFile {
	/** Cookies that expire earlier have ended; milliseconds since 1970. */
	readonly endedBefore: number;
	/** Signature → expiry in milliseconds since 1970. */
	readonly ended: Readonly<Record<string, number>>;
}

export interface EndedLoginsOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

export class EndedLogins {
	readonly #options: EndedLoginsOptions;
	/** Ends a login for other processes too. @returns whether none of them has ended it; never fails */
	claim: ((signature: string, expires: number) => Promise<boolean>) | undefined;
	readonly #path: string;
	readonly #ended = new Map<string, number>();
	#endedBefore = 0;
	#writing: Promise<void> = Promise.resolve();

	constructor(options: EndedLoginsOptions) {
		this.#options = options;
		this.#path = join(options.dataDir, "ended-logins.json");
	}

	async open(): Promise<void> {
		const { disk, onProblem } = this.#options;
		try {
			this.#add(parseEndedLogins(await disk.readFile(this.#path, "utf8")));
		} catch (error) {
			if (errorCode(error) === "ENOENT") return;
			onProblem(
				`${this.#path} cannot be read (${errorCode(error) ?? "damaged"}); logins that were ended count again.`,
			);
		}
	}

	has(signature: string, expires: number): boolean {
		return expires < this.#endedBefore || this.#ended.has(signature);
	}

	/** Ends a login; beyond 1000, all logins. Resolves once stored. @throws {NodeJS.ErrnoException} */
	async end(signature: string, expires: number): Promise<void> {
		await this.take({ endedBefore: this.#endedBefore, ended: { [signature]: expires } });
		await this.claim?.(signature, expires);
	}

	/** Ends a login code. @returns false if it was used, here or elsewhere */
	async use(signature: string, expires: number): Promise<boolean> {
		if (this.has(signature, Number.POSITIVE_INFINITY)) return false;
		// Begins at once, so that it does not count twice here. A full disk must not keep anyone out; it is used in memory.
		const ended = this.take({ endedBefore: this.#endedBefore, ended: { [signature]: expires } }).catch(
			() => {},
		);
		const isFirst = (await this.claim?.(signature, expires)) ?? true;
		await ended;
		return isFirst;
	}

	get file(): EndedLoginsFile {
		return { endedBefore: this.#endedBefore, ended: Object.fromEntries(this.#ended) };
	}

	/** Adds those that another process ended. Resolves once stored. @throws {NodeJS.ErrnoException} */
	async take(file: EndedLoginsFile): Promise<void> {
		this.#add(file);
		for (const [each, at] of this.#ended) if (at <= this.#options.now()) this.#ended.delete(each);
		if (this.#ended.size > endedAtMost) {
			this.#endedBefore = Math.max(...this.#ended.values()) + 1;
			this.#ended.clear();
		}
		const written = this.#writing.then(() => this.#write());
		this.#writing = written.catch(() => {});
		await written;
	}

	#add({ endedBefore, ended }: EndedLoginsFile): void {
		this.#endedBefore = Math.max(this.#endedBefore, endedBefore);
		for (const [signature, expires] of Object.entries(ended)) this.#ended.set(signature, expires);
	}

	#write(): Promise<void> {
		return writeFileAtomic(this.#options.disk, this.#path, `${JSON.stringify(this.file, undefined, "\t")}\n`);
	}
}

/** @throws {SyntaxError} */
export function parseEndedLogins(text: string): EndedLoginsFile {
	const value: unknown = JSON.parse(text);
	if (!matches(content, value)) throw new SyntaxError("not a list of logins");
	const ended: [string, unknown][] = Object.entries(value.ended);
	if (!ended.every(isLogin)) throw new SyntaxError("not a list of logins");
	return { endedBefore: value.endedBefore ?? 0, ended: Object.fromEntries(ended) };
}

function isLogin(entry: [string, unknown]): entry is [signature: string, expires: number] {
	return matches(time, entry[1]);
}
