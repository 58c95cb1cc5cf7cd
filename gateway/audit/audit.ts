/** Audit log: the latest changes by users, shared by the gateways of a cluster. */

import { type Infer, matches, object, optional, string } from "../../device/protocol/schema.js";
import type { Change } from "../access/access.js";
import { anyObject, parseJson } from "../api/json.js";
import { cutText } from "../api/text.js";
import { time } from "../api/time.js";
import type { Base } from "../base.js";
import { errorCode } from "../problem.js";
import type { Entry, Log, Unsubscribe } from "../storage/log.js";

const key = "changes";
const maxKept = 2000;
/** Number removed together, as each removal rewrites the file. */
const surplus = 500;
/** Limit of unwritten entries. The oldest are dropped. */
const maxWaiting = 1000;
const retryMs = 1_000;
const textCharacters = 300;
/** Limit of a change's values together. */
const valueCharacters = 2000;
const maxDepth = 4;
const maxFields = 20;
const secretFields = /password|token|secret|^ca$/i;

const line = object({
	/** Milliseconds since 1970. */
	at: time,
	/** Name of the token. */
	who: string(64),
	address: string(64),
	deviceId: optional(string(64)),
	what: string(textCharacters),
	/** Fields of the request without secrets. */
	after: anyObject,
	/** Previous values of some of the fields. */
	before: optional(anyObject),
});
export type AuditLine = Infer<typeof line>;

export interface AuditOptions extends Pick<Base, "now"> {
	/**
	 * @throws {RejectedError}
	 * @throws {NodeJS.ErrnoException}
	 */
	readonly openLog: () => Promise<Log>;
	readonly onProblem: (sentence: string) => void;
}

export class Audit {
	readonly #options: AuditOptions;
	/** Entries by revision, latest last. */
	readonly #lines = new Map<number, AuditLine>();
	readonly #waiting: AuditLine[] = [];
	#log: Log | undefined;
	#latest = 0;
	#stopReading: Unsubscribe = () => {};
	#writing: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;
	/** Error of the latest write. */
	#problem: string | undefined;
	#isClosed = false;

	constructor(options: AuditOptions) {
		this.#options = options;
	}

	/** Returns entries latest first, beginning with unwritten ones. */
	list(): readonly AuditLine[] {
		return [...this.#lines.values(), ...this.#waiting].reverse().slice(0, maxKept);
	}

	add({ person, remoteAddress, deviceId, what, after, before }: Change): void {
		this.#waiting.push({
			at: this.#options.now(),
			who: person.name,
			address: remoteAddress,
			...(deviceId !== undefined && { deviceId }),
			what: cut(what),
			after: Object(withoutSecrets(after)),
			...(before && { before: Object(withoutSecrets(before)) }),
		});
		if (this.#waiting.length > maxWaiting) this.#waiting.shift();
		this.write();
	}

	/** Reads existing entries and writes pending ones. */
	write(): void {
		clearTimeout(this.#timer);
		this.#writing ??= this.#writeAll()
			.catch((error: unknown) => {
				const why = errorCode(error) ?? String(error);
				if (why !== this.#problem)
					this.#options.onProblem(`Writing the audit log failed (${why}). It is retried every second.`);
				this.#problem = why;
				if (!this.#isClosed) this.#timer = setTimeout(() => this.write(), retryMs).unref();
			})
			.finally(() => {
				this.#writing = undefined;
			});
	}

	/** Resolves after all entries were written or failed. */
	async settled(): Promise<void> {
		await this.#writing;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		await this.settled();
		this.#stopReading();
	}

	async #writeAll(): Promise<void> {
		const log = this.#log ?? (await this.#open());
		this.#problem = undefined;
		for (let [next] = this.#waiting; next; [next] = this.#waiting) {
			const revision = await log.append(key, JSON.stringify(next), this.#latest);
			// Another gateway was first; its entry arrives soon.
			if (revision === undefined) await new Promise((resolve) => setTimeout(resolve, retryMs / 20));
			else {
				this.#waiting.splice(this.#waiting.indexOf(next), 1);
				this.#onEntry({ revision, text: JSON.stringify(next) });
			}
			if (this.#isClosed && revision === undefined) return;
		}
		if (this.#lines.size < maxKept + surplus) return;
		const revisions = [...this.#lines.keys()].sort((a, b) => a - b);
		const oldest = revisions.at(-maxKept) ?? 0;
		await log.removeBefore(key, oldest);
		for (const revision of revisions) if (revision < oldest) this.#lines.delete(revision);
	}

	async #open(): Promise<Log> {
		const log = await this.#options.openLog();
		this.#stopReading = await log.read({
			onAll: (entries) => {
				this.#lines.clear();
				this.#latest = 0;
				for (const [, entry] of entries) this.#onEntry(entry);
			},
			onEntry: (_key, entry) => this.#onEntry(entry),
		});
		this.#log = log;
		return log;
	}

	#onEntry({ revision, text }: Entry): void {
		this.#latest = Math.max(this.#latest, revision);
		const value = parseJson(text);
		if (matches(line, value)) this.#lines.set(revision, value);
	}
}

/**
 * Copies a value. Limits its depth, as JSON.stringify would overflow the stack with a deeply nested body, and its size; "…" stands for
 * the rest.
 * @param left characters for the rest of the value
 */
function withoutSecrets(value: unknown, depth = 0, left = { characters: valueCharacters }): unknown {
	if (left.characters <= 0) return "…";
	if (typeof value === "string") {
		const text = cut(withoutCredentials(value));
		left.characters -= text.length;
		return text;
	}
	left.characters -= 1;
	if (typeof value !== "object" || value === null) return value;
	if (depth === maxDepth) return "…";
	if (Array.isArray(value)) {
		const items = value.slice(0, maxFields).map((item) => withoutSecrets(item, depth + 1, left));
		return value.length > maxFields ? [...items, `… ${value.length - maxFields} more`] : items;
	}
	const fields = Object.entries(value).slice(0, maxFields);
	return Object.fromEntries(
		fields.map(([name, field]) => [
			name,
			secretFields.test(name) ? "…" : withoutSecrets(field, depth + 1, left),
		]),
	);
}

/** Removes user name, password and key from URLs. */
function withoutCredentials(text: string): string {
	if (!/^[a-z]+:\/\//i.test(text) || !URL.canParse(text)) return text;
	const { protocol, host, pathname } = new URL(text);
	return `${protocol}//${host}${pathname}`;
}

function cut(text: string): string {
	return text.length > textCharacters ? `${cutText(text, textCharacters - 1)}…` : text;
}
