/**
 * What gateways that act as one need of each other: messages, requests, key-value buckets, logs and files. Two
 * implementations pass the same tests: in one process (memory-bus.ts), and NATS (cluster/nats/bus.ts), which is loaded only
 * where NATS_URL is set. A gateway that is alone has none.
 */

import { AnsweredError } from "./problem.js";
import type { Files } from "./storage/blobs.js";
import type { Entry, Log, Unsubscribe } from "./storage/log.js";

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
	/** @returns the names of all buckets that there are @throws {BusError} `away`, `timeout` */
	buckets(): Promise<readonly string[]>;
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

export type BusProblem = "away" | "noResponders" | "timeout";

export class BusError extends AnsweredError {
	readonly problem: BusProblem;

	constructor(problem: BusProblem, message: string) {
		super(message, {
			status: 503,
			detail: "The server that the gateways share cannot be reached; try again.",
		});
		this.problem = problem;
	}
}

/** Joins parts to a subject; characters that NATS gives a meaning (dot, star, greater-than, space) are escaped. */
export function subjectOf(...parts: readonly string[]): string {
	return parts
		.map((part) => encodeURIComponent(part).replaceAll(".", "%2E").replaceAll("*", "%2A"))
		.join(".");
}
