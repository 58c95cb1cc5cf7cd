/**
 * Transport and shared storage of a cluster: messages, requests, key-value buckets, logs and files. Two implementations
 * pass the same tests: memory-bus.ts (one process) and cluster/nats/bus.ts, which is loaded only if NATS_URL is set. A
 * standalone gateway has none.
 */

import { RejectedError } from "./problem.js";
import type { Files } from "./storage/blobs.js";
import type { Entry, Log, Unsubscribe } from "./storage/log.js";

export interface Bus {
	/** False while the server is unreachable: published messages are lost, and requests fail. */
	readonly isConnected: boolean;
	/** Called at each change of `isConnected`. */
	onStatus(listener: (isConnected: boolean) => void): Unsubscribe;
	/** Delivers at most once to all connected subscribers, including those of this bus. @param subject see `subjectOf` */
	publish(subject: string, text: string): void;
	/** @param subject `*` matches one part @param onMessage called in the order of each sender's messages */
	subscribe(subject: string, onMessage: (text: string, subject: string) => void): Unsubscribe;
	/** @throws {BusError} `noResponders` if nobody serves the subject, `away` without a server, `timeout` */
	request(subject: string, text: string, timeoutMs: number): Promise<string>;
	/** Responds to requests; one of several servers of a subject gets each. If `answer` throws, the request times out. */
	serve(subject: string, answer: (text: string) => Promise<string>): Unsubscribe;
	/** Opens or creates a bucket. @throws {BusError} `away` */
	bucket(name: string, options?: BucketOptions): Promise<Bucket>;
	/** @returns the names of all buckets @throws {BusError} `away`, `timeout` */
	buckets(): Promise<readonly string[]>;
	/** Opens or creates a log. @throws {BusError} `away` */
	log(name: string): Promise<Log>;
	/** Opens or creates a store of files. @throws {BusError} `away` */
	files(name: string): Promise<Files>;
	/** Flushes pending messages, then ends all subscriptions. */
	close(): Promise<void>;
}

export interface BucketOptions {
	/** Time after which values expire; undefined: never. */
	readonly ttlMs?: number;
}

/** Key-value store. Keys are arbitrary text, which implementations encode. */
export interface Bucket {
	/** @throws {BusError} `away`, `timeout` */
	get(key: string): Promise<Entry | undefined>;
	/**
	 * Writes if the key still has this revision (compare and swap).
	 * @param revision 0: the key must have no value
	 * @returns the new revision; undefined, without writing, if the key has another one
	 * @throws {BusError} `away`, `timeout`; the value may be written or not
	 */
	set(key: string, text: string, revision: number): Promise<number | undefined>;
	/** Removes a value, as `set` writes one. @returns whether it is removed */
	remove(key: string, revision: number): Promise<boolean>;
	/**
	 * Reports all values, then all changes, including this process's own and those missed while the server was
	 * unreachable. An expired value may be reported as removed, or not.
	 * @param onChange `entry` undefined: removed
	 * @returns once all present values were reported
	 * @throws {BusError} `away`, `timeout`
	 */
	watch(onChange: (key: string, entry: Entry | undefined) => void): Promise<Unsubscribe>;
}

export type BusProblem = "away" | "noResponders" | "timeout";

export class BusError extends RejectedError {
	readonly problem: BusProblem;

	constructor(problem: BusProblem, message: string) {
		super(message, {
			status: 503,
			detail: "NATS, which the gateways share, is unreachable. Try again.",
		});
		this.problem = problem;
	}
}

/** Joins parts to a subject and escapes characters with a meaning in NATS (dot, star, greater-than, space). */
export function subjectOf(...parts: readonly string[]): string {
	return parts
		.map((part) => encodeURIComponent(part).replaceAll(".", "%2E").replaceAll("*", "%2A"))
		.join(".");
}
