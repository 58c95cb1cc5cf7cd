/** Cached data of the gateway that is reloaded when it may have changed. */

import { messageOf } from "../../../../device/message-of.js";

export class Resource<T> {
	readonly #read: () => Promise<T>;
	readonly #onChanged: (value: T | undefined) => void;
	#value: T | undefined;
	#problem = "";
	#reading: Promise<void> | undefined;
	#isStale = false;

	/** @param onChanged called with the loaded value; undefined after a failure */
	constructor(read: () => Promise<T>, onChanged: (value: T | undefined) => void) {
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
		this.#onChanged(value);
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

	/** Reloads the value after a change. @throws the error of the change */
	async after(change: Promise<unknown>): Promise<void> {
		await change;
		await this.refresh();
	}

	async #readAll(): Promise<void> {
		do {
			this.#isStale = false;
			this.#onChanged(await this.#try());
		} while (this.#isStale);
		this.#reading = undefined;
	}

	async #try(): Promise<T | undefined> {
		try {
			this.#value = await this.#read();
			this.#problem = "";
			return this.#value;
		} catch (error) {
			this.#problem = messageOf(error);
			return undefined;
		}
	}
}
