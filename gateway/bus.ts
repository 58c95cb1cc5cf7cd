/**
 * What gateways that act as one need of each other: messages, requests, key-value buckets, logs and files. Two
 * implementations pass the same tests: in one process (memory-bus.ts), and NATS (cluster/nats/bus.ts), which is loaded only
 * where NATS_URL is set. A gateway that is alone uses logs only, in files (storage/file-log.ts).
 */

/** Removes a subscription. */
export type Unsubscribe = () => void;

export interface Bus {
	/** False while the server cannot be reached: what is published meanwhile is lost, and requests fail. */
	readonly isConnected: boolean;
	/** Called at each change of `isConnected`. */
	onStatus(listener: (isConnected: boolean) => void): Unsubscribe;
	/** At most once, to subscribers that are connected, this bus's own included. @param subject see `subjectOf` */
	publish(subject: string, text: string): void;
	/** @param subject may have `*` for one part @param onMessage called in the order of each sender's messages */
	subscribe(subject: string, onMessage: (text: string, subject: string) => void): Unsubscribe;
	/** @throws {BusError} `noResponders` if no one serves the subject, `away` without a server, `timeout` */
	request(subject: string, text: string, timeoutMs: number): Promise<string>;
	/** Answers requests; of several that serve a subject one does. An answer that throws lets the request time out. */
	serve(subject: string, answer: (text: string) => Promise<string>): Unsubscribe;
	/** Opens a bucket, and makes it if it is missing. @throws {BusError} `away` */
	bucket(name: string, options?: BucketOptions): Promise<Bucket>;
	/** Opens a log, and makes it if it is missing. @throws {BusError} `away` */
	log(name: string): Promise<Log>;
	/** Opens a store of files, and makes it if it is missing. @throws {BusError} `away` */
	files(name: string): Promise<Files>;
	/** Sends what is waiting, then ends all subscriptions. */
	close(): Promise<void>;
}

export interface BucketOptions {
	/** Values are removed this long after they were written; undefined: never. */
	readonly ttlMs?: number;
}

export interface Entry {
	readonly text: string;
	/** Grows with each write to the bucket; from 1. */
	readonly revision: number;
}

/** Keys may be any text: implementations encode them. */
export interface Bucket {
	/** @throws {BusError} `away`, `timeout` */
	get(key: string): Promise<Entry | undefined>;
	/**
	 * Writes if the key still has this revision (compare and set).
	 * @param revision 0: there must be no value
	 * @returns the new revision; undefined if another one was there, and nothing was written
	 * @throws {BusError} `away`, `timeout`; then it may be written or not
	 */
	set(key: string, text: string, revision: number): Promise<number | undefined>;
	/** Like `set`. @returns whether it is gone */
	remove(key: string, revision: number): Promise<boolean>;
	/**
	 * Reports all values, then all changes, this process's own included; after a time without a server also what
	 * changed meanwhile. A value that expires may be reported as removed, or not.
	 * @param onChange `entry` undefined: removed
	 * @returns once the present values were reported
	 * @throws {BusError} `away`, `timeout`
	 */
	watch(onChange: (key: string, entry: Entry | undefined) => void): Promise<Unsubscribe>;
}

export interface LogReader {
	/** All entries, in their order; again after each time without a server, as it may have lost the latest ones. */
	readonly onAll: (entries: readonly (readonly [key: string, entry: Entry])[]) => void;
	/** One that was added since, by this process too. */
	readonly onEntry: (key: string, entry: Entry) => void;
}

/** Lists of texts, one for each key, to which lines are appended. */
export interface Log {
	/**
	 * Appends if the latest entry of the key still has this revision.
	 * @param text without a line feed, such as JSON
	 * @param after 0: there must be none
	 * @returns the revision of the new entry; undefined if another one was the latest, and nothing was written
	 * @throws {BusError} `away`, `timeout`; then it may be written or not @throws {NodeJS.ErrnoException} of a file
	 */
	append(key: string, text: string, after: number): Promise<number | undefined>;
	/**
	 * Replaces all entries of a key at once, and is not passed to readers. Only in a log that no other process reads.
	 * @returns like `append`; 0 if there are none now
	 */
	replace?(key: string, texts: readonly string[], after: number): Promise<number | undefined>;
	/** Removes the entries of a key that are older than a revision. @throws as `append` */
	removeBefore(key: string, revision: number): Promise<void>;
	/** @returns once `onAll` was called @throws {BusError} */
	read(reader: LogReader): Promise<Unsubscribe>;
}

/** Files of some megabytes, by name; a name's content never changes. */
export interface Files {
	/** No effect if there is a file of this name. @throws {BusError} */
	put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
	/** @returns undefined if there is none @throws {BusError} also while it is read */
	get(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
	/** @throws {BusError} */
	remove(name: string): Promise<void>;
}

export type BusProblem = "away" | "noResponders" | "timeout";

export class BusError extends Error {
	readonly problem: BusProblem;

	constructor(problem: BusProblem, message: string) {
		super(message);
		this.problem = problem;
	}
}

/** Joins parts to a subject; characters that NATS gives a meaning (dot, star, greater-than, space) are escaped. */
export function subjectOf(...parts: readonly string[]): string {
	return parts
		.map((part) => encodeURIComponent(part).replaceAll(".", "%2E").replaceAll("*", "%2A"))
		.join(".");
}
