/**
 * Login cookies that were ended by logging out, on disk until they expire. A cookie is valid by its signature, so a
 * copy of it would still log in otherwise.
 */

import { join } from "node:path";
import { matches, object, optional } from "../../device/protocol/schema.js";
import { type Disk, writeFileAtomic } from "../atomic-file.js";
import { errorCode } from "../problem.js";
import { time } from "../time.js";

const endedAtMost = 1000;
const content = object({ endedBefore: optional(time), ended: object({}) });

export interface EndedLoginsOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

export class EndedLogins {
	readonly #options: EndedLoginsOptions;
	readonly #path: string;
	/** Signature → expiry, in milliseconds since 1970. */
	readonly #ended = new Map<string, number>();
	/** Cookies that expire before have ended too, in milliseconds since 1970. */
	#endedBefore = 0;
	#writing: Promise<void> = Promise.resolve();

	constructor(options: EndedLoginsOptions) {
		this.#options = options;
		this.#path = join(options.dataDir, "ended-logins.json");
	}

	async open(): Promise<void> {
		const { disk, onProblem } = this.#options;
		try {
			const kept: unknown = JSON.parse(await disk.readFile(this.#path, "utf8"));
			if (!matches(content, kept)) throw new SyntaxError("not a list of logins");
			const ended: [string, unknown][] = Object.entries(kept.ended);
			if (!ended.every(isLogin)) throw new SyntaxError("not a list of logins");
			this.#endedBefore = kept.endedBefore ?? 0;
			for (const [signature, expires] of ended) this.#ended.set(signature, expires);
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

	/**
	 * Ends a login; beyond 1000, all logins. Resolves once that is on disk.
	 * @throws {NodeJS.ErrnoException}
	 */
	async end(signature: string, expires: number): Promise<void> {
		this.#ended.set(signature, expires);
		for (const [each, at] of this.#ended) if (at <= this.#options.now()) this.#ended.delete(each);
		if (this.#ended.size > endedAtMost) {
			this.#endedBefore = Math.max(...this.#ended.values()) + 1;
			this.#ended.clear();
		}
		const written = this.#writing.then(() => this.#write());
		this.#writing = written.catch(() => {});
		await written;
	}

	#write(): Promise<void> {
		const content = { endedBefore: this.#endedBefore, ended: Object.fromEntries(this.#ended) };
		return writeFileAtomic(this.#options.disk, this.#path, `${JSON.stringify(content, undefined, "\t")}\n`);
	}
}

function isLogin(entry: [string, unknown]): entry is [signature: string, expires: number] {
	return matches(time, entry[1]);
}
