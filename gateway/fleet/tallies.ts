/**
 * Counters shared by several gateways. Increments are kept until they are merged with the stored value, so
 * concurrent writes neither lose nor duplicate them.
 */

import type { Core } from "../extension.js";
import { Queue } from "../storage/queue.js";
import { type RecordKind, type Records, Superseded } from "../storage/records.js";

export interface TalliesOptions<T> extends Pick<RecordKind<T>, "what" | "parse"> {
	readonly core: Pick<Core, "log" | "now" | "records">;
	/** Name of the record type. */
	readonly name: string;
	/** Merges two values, independent of their order. */
	readonly merge: (a: T, b: T) => T;
	/** Limit. Beyond it, a new tally replaces one unchanged for 90 days, or is dropped. */
	readonly most: number;
	/** Time of the latest increment, in milliseconds since 1970. */
	readonly lastAt: (tally: T) => number;
	/**
	 * Called after a tally was written by this or another gateway.
	 * @param isFirst whether this gateway created it
	 */
	readonly onWritten: (tally: T, isFirst: boolean, id: string) => void;
}

const staleMs = 90 * 24 * 60 * 60 * 1000;
const key = /^[0-9a-f]{16}$/;

export class Tallies<T> {
	readonly #options: TalliesOptions<T>;
	readonly #records: Records<T>;
	readonly #known = new Map<string, T>();
	readonly #added = new Map<string, T>();
	readonly #writes = new Queue();

	constructor(options: TalliesOptions<T>) {
		this.#options = options;
		const { core, name, what, parse } = options;
		this.#records = core.records<T>({
			name,
			what,
			isKey: (id) => key.test(id),
			parse,
			onRecord: (id, tally) => this.#onRecord(id, tally),
		});
	}

	/** Stored values by id. */
	get known(): ReadonlyMap<string, T> {
		return this.#known;
	}

	/** @throws {NodeJS.ErrnoException} if its folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((id, tally) => this.#known.set(id, tally));
	}

	/** @param id 16 hexadecimal digits */
	add(id: string, tally: T): void {
		const before = this.#added.get(id);
		this.#added.set(id, before ? this.#options.merge(before, tally) : tally);
	}

	/**
	 * Writes pending increments.
	 * @returns whether all are written; the next call retries the rest
	 */
	write(): Promise<boolean> {
		return this.#writes.add(async () => {
			const { core, what } = this.#options;
			try {
				for (const id of [...this.#added.keys()]) while (!(await this.#writeOne(id)));
				return true;
			} catch (error) {
				core.log.warn({ err: error }, `${what}: writing failed, retrying later`);
				return false;
			}
		});
	}

	#onRecord(id: string, tally: T | undefined): void {
		if (tally === undefined) return void this.#known.delete(id);
		this.#known.set(id, tally);
		this.#options.onWritten(tally, false, id);
	}

	/**
	 * @returns false if another gateway wrote first, after reading its value
	 * @throws {Error} if writing fails
	 */
	async #writeOne(id: string): Promise<boolean> {
		const { merge, onWritten } = this.#options;
		const added = this.#added.get(id);
		const before = this.#known.get(id);
		if (!added) return true;
		this.#added.delete(id);
		if (!before && !(await this.#makeRoom())) return true;
		const tally = before ? merge(before, added) : added;
		try {
			await this.#records.saveOnce(id, tally);
		} catch (error) {
			this.add(id, added);
			if (error instanceof Superseded) return false;
			throw error;
		}
		// Another gateway may have written meanwhile.
		if (this.#known.get(id) === before) this.#known.set(id, tally);
		onWritten(tally, !before, id);
		return true;
	}

	async #makeRoom(): Promise<boolean> {
		const { most, lastAt, core } = this.#options;
		if (this.#known.size < most) return true;
		const [stalest] = [...this.#known].sort(([, a], [, b]) => lastAt(a) - lastAt(b));
		if (!stalest || lastAt(stalest[1]) > core.now() - staleMs) return false;
		if (!(await this.#records.remove(stalest[0]))) return false;
		this.#known.delete(stalest[0]);
		return true;
	}
}
