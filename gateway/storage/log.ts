/** Append-only logs of text entries, stored in files (file-log.ts) or by the cluster. */

/** Removes a subscription. */
export type Unsubscribe = () => void;

export interface Entry {
	readonly text: string;
	/** Increases with each write of the key, starting at 1. */
	readonly revision: number;
}

export interface LogReader {
	/** Called with the entries of each key in order, also after each reconnection, as the server may have lost the latest ones. */
	readonly onAll: (entries: readonly (readonly [key: string, entry: Entry])[]) => void;
	/** Called with each entry added afterwards, including those of this process. */
	readonly onEntry: (key: string, entry: Entry) => void;
}

/** Lists of text entries by key. */
export interface Log {
	/**
	 * Appends an entry unless the key has changed.
	 * @param text a single line, such as JSON
	 * @param after expected revision of the key's latest entry; 0: none
	 * @returns revision of the new entry; undefined if the revision differed and nothing was written
	 * @throws {RejectedError} if the storage is unreachable, in which case the entry may or may not be written
	 * @throws {NodeJS.ErrnoException} if writing a file fails
	 */
	append(key: string, text: string, after: number): Promise<number | undefined>;
	/**
	 * Replaces all entries of a key atomically, without notifying readers. Only for logs that no other process reads.
	 * @returns like `append`; 0 if `texts` is empty
	 */
	replace?(key: string, texts: readonly string[], after: number): Promise<number | undefined>;
	/** Removes the entries of a key before a revision. @throws like `append` */
	removeBefore(key: string, revision: number): Promise<void>;
	/** Subscribes a reader. Resolves after `onAll` was called. @throws {RejectedError} */
	read(reader: LogReader): Promise<Unsubscribe>;
}

/** Reads all entries of a log, those of each key in order. @throws {RejectedError} */
export async function entriesOf(log: Log): Promise<readonly (readonly [key: string, entry: Entry])[]> {
	let entries: readonly (readonly [string, Entry])[] = [];
	const onAll = (all: typeof entries) => {
		entries = all;
	};
	const stop = await log.read({ onAll, onEntry: () => {} });
	stop();
	return entries;
}

/** Opens a log, creating it if missing. @throws {RejectedError} if the storage is unreachable */
export type OpenLog = (name: string, onProblem: (sentence: string) => void) => Promise<Log>;
