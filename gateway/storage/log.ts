/** Append-only logs of text entries, in files (file-log.ts) or in the storage of a cluster. */

/** Removes a subscription. */
export type Unsubscribe = () => void;

export interface Entry {
	readonly text: string;
	/** Grows with each write; from 1. */
	readonly revision: number;
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
	 * @throws {RejectedError} it cannot be reached; then it may be written or not @throws {NodeJS.ErrnoException} of a file
	 */
	append(key: string, text: string, after: number): Promise<number | undefined>;
	/**
	 * Replaces all entries of a key at once, and is not passed to readers. Only in a log that no other process reads.
	 * @returns like `append`; 0 if there are none now
	 */
	replace?(key: string, texts: readonly string[], after: number): Promise<number | undefined>;
	/** Removes the entries of a key that are older than a revision. @throws as `append` */
	removeBefore(key: string, revision: number): Promise<void>;
	/** @returns once `onAll` was called @throws {RejectedError} */
	read(reader: LogReader): Promise<Unsubscribe>;
}

/** Opens a log, and makes it if it is missing. @throws {RejectedError} if it cannot be reached now */
export type OpenLog = (name: string, onProblem: (sentence: string) => void) => Promise<Log>;
