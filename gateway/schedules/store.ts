/** What people have set, in memory and in records; of gateways that act as one each has all of it. */

import { type Infer, matches, type ObjectSchema } from "../../device/protocol/schema.js";
import { parseJson } from "../api/json.js";
import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import type { Records } from "../storage/records.js";

export interface StoreOptions<S extends ObjectSchema> {
	readonly core: Pick<Core, "records" | "storage" | "log">;
	/** Of the records, and in the path of requests. */
	readonly name: string;
	/** For messages, such as "schedule". */
	readonly noun: string;
	readonly schema: S;
	/** Throws if a record cannot be used on this computer. */
	readonly check: (record: Infer<S>) => void;
	/** Called after each change, here or at another gateway. */
	readonly onChange?: () => void;
}

export class Store<S extends ObjectSchema> {
	readonly #options: StoreOptions<S>;
	readonly #records: Records<Infer<S>>;
	/** By id. */
	readonly #kept = new Map<string, Infer<S>>();

	constructor(options: StoreOptions<S>) {
		const { core, name, noun, schema, check } = options;
		this.#options = options;
		this.#records = core.records<Infer<S>>({
			name,
			what: noun,
			isKey: (key) => /^[0-9a-f]{16}$/.test(key),
			format: (record) => JSON.stringify(record),
			parse: (text) => {
				const value = parseJson(text);
				if (!matches(schema, value)) return undefined;
				check(value);
				return value;
			},
			onProblem: (problem) => core.log.warn({ problem }, name),
			onRecord: (id, record) => this.#set(id, record),
		});
	}

	get all(): ReadonlyMap<string, Infer<S>> {
		return this.#kept;
	}

	get readinessProblem(): string | undefined {
		return this.#records.readinessProblem;
	}

	/** @throws {Error} if its records cannot be had */
	async open(): Promise<void> {
		await this.#records.each((id, record) => this.#kept.set(id, record));
	}

	close(): Promise<void> {
		return this.#records.close();
	}

	/** @throws {HttpProblem} 404 */
	find(id: string): Infer<S> {
		const record = this.#kept.get(id);
		if (record) return record;
		const { noun, name } = this.#options;
		throw new HttpProblem(404, `No ${noun} is called ${id}; see /api/${name}.`);
	}

	/** It is in force at once. @returns whether it is written; if not, it is tried again every second, unless another gateway was first */
	save(id: string, record: Infer<S>): Promise<boolean> {
		this.#set(id, record);
		return this.#records.save(id, record);
	}

	/** @throws {HttpProblem} 404, and 507 or 503 if it cannot be removed */
	async remove(id: string): Promise<void> {
		const record = this.find(id);
		if (await this.drop(id)) return;
		if (!this.#kept.has(id)) this.#set(id, record);
		throw this.failure("could not be removed from", "try again");
	}

	/** @returns whether it is gone also from where it is kept; if not, that is not tried again */
	drop(id: string): Promise<boolean> {
		this.#set(id, undefined);
		return this.#records.remove(id);
	}

	/** @returns the rejection of a request, 507 or 503 */
	failure(what: string, advice: string): HttpProblem {
		const { noun, core } = this.#options;
		return new HttpProblem(core.storage.status, `The ${noun} ${what} ${core.storage.place}; ${advice}.`);
	}

	#set(id: string, record: Infer<S> | undefined): void {
		if (record) this.#kept.set(id, record);
		else this.#kept.delete(id);
		this.#options.onChange?.();
	}
}
