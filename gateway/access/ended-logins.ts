/**
 * Logins that were ended by logging out, and login codes that were used: a copy still has a valid signature. Each has a record,
 * which is kept until there is no room and it has expired: with a clock that was wrong for a while it would count again.
 */

import { randomUUID } from "node:crypto";
import { type Infer, matches, object, string } from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import { time } from "../api/time.js";
import type { Base } from "../base.js";
import { HttpProblem } from "../problem.js";
import type { Records } from "../storage/records.js";

const endedAtMost = 1000;
/** In place of a signature: all that expire earlier have ended. */
const all = "all";
const record = object({
	/** Milliseconds since 1970. */
	expires: time,
	/** If two processes end a login at the same time, it says whose record was written. */
	id: string(36),
});
type Ended = Infer<typeof record>;

export interface EndedLoginsOptions extends Pick<Base, "records" | "storage" | "now"> {
	readonly onProblem: (sentence: string) => void;
	/** A login was ended, by this process or another one. */
	readonly onEnded?: () => void;
}

export class EndedLogins {
	readonly #options: EndedLoginsOptions;
	readonly #records: Records<Ended>;
	/** By signature. */
	readonly #ended = new Map<string, Ended>();

	constructor(options: EndedLoginsOptions) {
		this.#options = options;
		this.#records = options.records<Ended>({
			name: "ended-logins",
			what: "time",
			isKey: (key) => /^[\w-]+$/.test(key),
			format: (ended) => JSON.stringify(ended),
			parse: (text) => {
				const value = parseJson(text);
				return matches(record, value) ? value : undefined;
			},
			onProblem: options.onProblem,
			onRecord: (signature, ended) => {
				if (ended) this.#ended.set(signature, ended);
				else this.#ended.delete(signature);
				options.onEnded?.();
			},
		});
	}

	/** @throws {NodeJS.ErrnoException} if the folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((signature, ended) => this.#ended.set(signature, ended));
	}

	/** Resolves once everything is stored. */
	async close(): Promise<void> {
		await this.#records.close();
	}

	has(signature: string, expires: number): boolean {
		return expires < (this.#ended.get(all)?.expires ?? 0) || this.#ended.has(signature);
	}

	/** Ends a login; beyond 1000, all logins. @throws {HttpProblem} it has ended, but is not stored yet */
	async end(signature: string, expires: number): Promise<void> {
		if (await this.#keep(signature, { expires, id: randomUUID() })) return;
		const { place, status } = this.#options.storage;
		throw new HttpProblem(status, `Logging out could not be written to ${place}; the log says why.`);
	}

	/** Ends a login code. @returns false if it was used, here or elsewhere */
	async use(signature: string, expires: number): Promise<boolean> {
		if (this.has(signature, Number.POSITIVE_INFINITY)) return false;
		const ended = { expires, id: randomUUID() };
		// A full disk must not keep anyone out.
		await this.#keep(signature, ended);
		return (this.#ended.get(signature) ?? ended) === ended;
	}

	/** @returns whether it is stored, by this process or another one */
	async #keep(signature: string, ended: Ended): Promise<boolean> {
		if (this.#ended.size >= endedAtMost)
			for (const [each, { expires }] of this.#ended) if (expires <= this.#options.now()) this.#remove(each);
		this.#ended.set(signature, ended);
		this.#options.onEnded?.();
		if (this.#ended.size <= endedAtMost) return this.#save(signature, ended);
		const previous = [...this.#ended].filter(([each]) => each !== all);
		const last = {
			expires: Math.max(...[...this.#ended.values()].map(({ expires }) => expires)) + 1,
			id: ended.id,
		};
		this.#ended.clear();
		this.#ended.set(all, last);
		const isKept = await this.#save(all, last);
		if (isKept) for (const [each] of previous) this.#remove(each);
		return isKept;
	}

	async #save(signature: string, ended: Ended): Promise<boolean> {
		return (await this.#records.save(signature, ended)) || this.#ended.get(signature) !== ended;
	}

	#remove(signature: string): void {
		this.#ended.delete(signature);
		void this.#records.remove(signature);
	}
}
