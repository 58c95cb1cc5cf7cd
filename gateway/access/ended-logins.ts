/**
 * Deny list of logged-out logins and used login codes, whose signatures are still valid. Expired records are kept until the
 * list is long, since a login would become valid again if the clock were set back.
 */

import { randomUUID } from "node:crypto";
import { type Infer, object, string } from "../../device/protocol/schema.js";
import { time } from "../api/time.js";
import type { Base } from "../base.js";
import { RequestError } from "../problem.js";
import { jsonRecord, type Records } from "../storage/records.js";

/** Number of records from which expired ones are removed. */
const manyEnded = 1000;
const record = object({
	/** Milliseconds since 1970. */
	expires: time,
	/** Distinguishes the records of two processes that end a login at the same time. */
	id: string(36),
});
type Ended = Infer<typeof record>;

export interface EndedLoginsOptions extends Pick<Base, "records" | "storage" | "now"> {
	/** Called when a login is ended by this or another process. */
	readonly onEnded?: () => void;
}

export class EndedLogins {
	readonly #options: EndedLoginsOptions;
	readonly #records: Records<Ended>;
	/** Records by signature. */
	readonly #ended = new Map<string, Ended>();

	constructor(options: EndedLoginsOptions) {
		this.#options = options;
		this.#records = options.records<Ended>({
			name: "ended-logins",
			what: "time",
			isKey: (key) => /^[\w-]+$/.test(key),
			...jsonRecord(record),
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

	has(signature: string): boolean {
		return this.#ended.has(signature);
	}

	/** Ends a login. @throws {RequestError} if the logout is effective but not stored yet */
	async end(signature: string, expires: number): Promise<void> {
		if (await this.#add(signature, { expires, id: randomUUID() })) return;
		const { place, status } = this.#options.storage;
		throw new RequestError(status, `Cannot write the logout to ${place}. See the gateway's log.`);
	}

	/** Ends a login code. @returns false if it was already used, at this or another gateway */
	async use(signature: string, expires: number): Promise<boolean> {
		if (this.has(signature)) return false;
		const ended = { expires, id: randomUUID() };
		// The result is ignored, so that a login succeeds with a full disk.
		await this.#add(signature, ended);
		return (this.#ended.get(signature) ?? ended) === ended;
	}

	/** @returns whether the record is stored, by this or another process */
	async #add(signature: string, ended: Ended): Promise<boolean> {
		if (this.#ended.size >= manyEnded)
			for (const [expired, { expires }] of this.#ended) {
				if (expires > this.#options.now()) continue;
				this.#ended.delete(expired);
				void this.#records.remove(expired);
			}
		this.#ended.set(signature, ended);
		this.#options.onEnded?.();
		return (await this.#records.save(signature, ended)) || this.#ended.get(signature) !== ended;
	}
}
