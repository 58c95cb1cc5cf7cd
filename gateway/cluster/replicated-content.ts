/** What a replicated record of a key holds, the record or its removal: read from the bucket, compared and merged. */

import { createHash } from "node:crypto";
import { isRecord } from "../../device/protocol/schema.js";

/** What is particular to a kind of record. */
export interface ReplicationRules<T> {
	readonly format: (record: T) => string;
	/** Throws, or returns undefined, if the content is invalid. */
	readonly parse: (content: string, key: string) => T | undefined;
	/** What other gateways are told of when it changes; default: all of it. */
	readonly stateOf?: (record: T) => string;
	/** Of its latest change, in milliseconds since 1970: a removal wins if it is not earlier. */
	readonly changedAt: (record: T) => number;
	/** @param theirs in the bucket @param mine changed here meanwhile */
	readonly merge: (theirs: T, mine: T) => T;
}

export type Content<T> =
	| { readonly record: T; readonly removedAt?: undefined }
	| { readonly removedAt: number };

export class Contents<T> {
	readonly #rules: ReplicationRules<T>;

	constructor(rules: ReplicationRules<T>) {
		this.#rules = rules;
	}

	/** @returns as it is written to the bucket */
	format(content: Content<T>): string {
		return content.removedAt === undefined ? this.#rules.format(content.record) : JSON.stringify(content);
	}

	/** @returns undefined if it is not understood */
	parse(text: string, key: string): Content<T> | undefined {
		try {
			const value: unknown = JSON.parse(text);
			if (isRecord(value) && typeof value.removedAt === "number") return { removedAt: value.removedAt };
			const record = this.#rules.parse(text, key);
			return record === undefined ? undefined : { record };
		} catch {
			return undefined;
		}
	}

	/** @param theirs in the bucket @param mine changed here meanwhile */
	merge(theirs: Content<T>, mine: Content<T>): Content<T> {
		const { merge, changedAt } = this.#rules;
		if (theirs.removedAt === undefined && mine.removedAt === undefined)
			return { record: merge(theirs.record, mine.record) };
		if (theirs.removedAt === undefined) return this.merge(mine, theirs);
		if (mine.removedAt !== undefined) return theirs;
		return changedAt(mine.record) > theirs.removedAt ? mine : theirs;
	}

	/** The same for contents that other gateways need not be told apart. */
	digestOf(content: Content<T>): string {
		if (content.removedAt !== undefined) return "removed";
		const { stateOf, format } = this.#rules;
		return createHash("sha1")
			.update((stateOf ?? format)(content.record))
			.digest("base64");
	}
}
