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
	/** Adds a listener for changes of `isConnected`. */
	onStatus(listener: (isConnected: boolean) => void): Unsubscribe;
	/** Publishes to all connected subscribers, including those of this bus, at most once. @param subject see `subjectOf` */
	publish(subject: string, text: string): void;
	/** @param subject `*` matches one part @param onMessage called in the order in which each sender published */
	subscribe(subject: string, onMessage: (text: string, subject: string) => void): Unsubscribe;
	/** @throws {BusError} `disconnected` if the bus is disconnected or the subject has no server, `timeout` */
	request(subject: string, text: string, timeoutMs: number): Promise<string>;
	/** Serves the requests of a subject, of which there must be one server. If `answer` throws, the request times out. */
	serve(subject: string, answer: (text: string) => Promise<string>): Unsubscribe;
	/** Opens or creates a bucket. @throws {BusError} `disconnected` */
	bucket(name: string): Promise<Bucket>;
	/** Lists the names of all buckets. @throws {BusError} `disconnected`, `timeout` */
	buckets(): Promise<readonly string[]>;
	/** Opens or creates a log. @throws {BusError} `disconnected` */
	log(name: string): Promise<Log>;
	/** Opens or creates a store of files. @throws {BusError} `disconnected` */
	files(name: string): Promise<Files>;
	/** Flushes pending messages, then ends all subscriptions. */
	close(): Promise<void>;
}

/** Key-value store. Keys are arbitrary text; implementations encode them. */
export interface Bucket {
	/** @throws {BusError} `disconnected`, `timeout` */
	get(key: string): Promise<Entry | undefined>;
	/**
	 * Writes if the key still has this revision (compare and swap).
	 * @param revision 0: the key must have no value
	 * @returns the new revision; undefined, without writing, if the key has another one
	 * @throws {BusError} `disconnected`, `timeout`; the value may be written or not
	 */
	set(key: string, text: string, revision: number): Promise<number | undefined>;
	/** Removes a value if it still has this revision. @returns whether it was removed */
	remove(key: string, revision: number): Promise<boolean>;
	/**
	 * Reports all values, then all changes, including this process's own and those missed while the server was
	 * unreachable.
	 * @param onChange `entry` undefined: removed
	 * @returns after all current values were reported
	 * @throws {BusError} `disconnected`, `timeout`
	 */
	watch(onChange: (key: string, entry: Entry | undefined) => void): Promise<Unsubscribe>;
}

export type BusProblem = "disconnected" | "timeout";

export class BusError extends RejectedError {
	readonly problem: BusProblem;

	constructor(problem: BusProblem, message: string) {
		super(message, {
			status: 503,
			detail: "NATS is unreachable. Try again later.",
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
