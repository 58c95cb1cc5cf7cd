/** Cached data of the gateway that is reloaded when it may have changed. */

import { messageOf } from "../../../../device/message-of.js";

export class Resource<T> {
	readonly #read: () => Promise<T>;
	readonly #onChanged: () => void;
	#value: T | undefined;
	#problem = "";
	#reading: Promise<void> | undefined;
	#isStale = false;

	/** @param onChanged called after each request, and after a replacement of the value */
	constructor(read: () => Promise<T>, onChanged: () => void) {
		this.#read = read;
		this.#onChanged = onChanged;
	}

	/** Last loaded value, kept after a failed reload; undefined before the first. */
	get value(): T | undefined {
		return this.#value;
	}

	/** Replaces the value after a known change. */
	set value(value: T) {
		this.#value = value;
		this.#onChanged();
	}

	/** Error of the latest request; empty after a success. */
	get problem(): string {
		return this.#problem;
	}

	get isReading(): boolean {
		return this.#reading !== undefined;
	}

	/** Reloads the value. At most one request runs; calls meanwhile repeat it once. */
	refresh(): Promise<void> {
		this.#isStale = this.isReading;
		this.#reading ??= this.#readAll();
		return this.#reading;
	}

	/** Reloads the value after a change, also after a failed one. @throws the error of the change */
	async after(change: Promise<unknown>): Promise<void> {
		await change.finally(() => this.refresh());
	}

	async #readAll(): Promise<void> {
		do {
			this.#isStale = false;
			try {
				this.#value = await this.#read();
				this.#problem = "";
			} catch (error) {
				this.#problem = messageOf(error);
			}
			this.#onChanged();
		} while (this.#isStale);
		this.#reading = undefined;
	}
}
