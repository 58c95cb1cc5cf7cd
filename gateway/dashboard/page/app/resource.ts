/** Something of the gateway as it was last read, to be read again when it may have changed. */

import { messageOf } from "../../../api/client/request.js";

export class Resource<T> {
	readonly #read: () => Promise<T>;
	readonly #onChanged: (value: T | undefined) => void;
	#value: T | undefined;
	#problem = "";
	#reading: Promise<void> | undefined;
	#isAskedAgain = false;

	/** @param onChanged called with what was read; undefined: it could not be */
	constructor(read: () => Promise<T>, onChanged: (value: T | undefined) => void) {
		this.#read = read;
		this.#onChanged = onChanged;
	}

	/** Undefined before it was read; what cannot be read again stays as it was. */
	get value(): T | undefined {
		return this.#value;
	}

	/** Something has changed it since. */
	set value(value: T) {
		this.#value = value;
		this.#onChanged(value);
	}

	/** Why it could not be read the last time; empty: it could. */
	get problem(): string {
		return this.#problem;
	}

	get isReading(): boolean {
		return this.#reading !== undefined;
	}

	/** Reads it. At most one request runs; calls meanwhile repeat it once. */
	refresh(): Promise<void> {
		this.#isAskedAgain = this.isReading;
		this.#reading ??= this.#readAll();
		return this.#reading;
	}

	async #readAll(): Promise<void> {
		do {
			this.#isAskedAgain = false;
			this.#onChanged(await this.#try());
		} while (this.#isAskedAgain);
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
