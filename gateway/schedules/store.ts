/** User-defined records, in memory and persistent. Each gateway of a cluster has all of them. */

import type { Infer, ObjectSchema } from "../../device/protocol/schema.js";
import type { Core } from "../extension.js";
import { RequestError, requireFound } from "../problem.js";
import { jsonRecord, type Records } from "../storage/records.js";

export interface StoreOptions<S extends ObjectSchema> {
	readonly core: Pick<Core, "records" | "storage">;
	/** Name of the records, and part of request paths. */
	readonly name: string;
	/** Noun for messages, such as "schedule". */
	readonly noun: string;
	readonly schema: S;
	/** Called after each change by this or another gateway. */
	readonly onChange?: () => void;
}

export class Store<S extends ObjectSchema> {
	readonly #options: StoreOptions<S>;
	readonly #records: Records<Infer<S>>;
	/** Records by id. */
	readonly #kept = new Map<string, Infer<S>>();

	constructor(options: StoreOptions<S>) {
		const { core, name, noun, schema } = options;
		this.#options = options;
		this.#records = core.records<Infer<S>>({
			name,
			what: noun,
			isKey: (key) => /^[0-9a-f]{16}$/.test(key),
			...jsonRecord(schema),
			onRecord: (id, record) => this.#set(id, record),
		});
	}

	get all(): ReadonlyMap<string, Infer<S>> {
		return this.#kept;
	}

	/** @throws {Error} if its records are unavailable */
	async open(): Promise<void> {
		await this.#records.each((id, record) => this.#kept.set(id, record));
	}

	/** @throws {RequestError} 404 */
	find(id: string): Infer<S> {
		const { noun, name } = this.#options;
		return requireFound(this.#kept.get(id), `No ${noun} has the id ${id}. GET /api/${name} lists all.`);
	}

	/**
	 * Sets a record, effective immediately.
	 * @returns whether it is written; if not, it is retried every second unless another gateway was first
	 */
	save(id: string, record: Infer<S>): Promise<boolean> {
		this.#set(id, record);
		return this.#records.save(id, record);
	}

	/** @throws {RequestError} 404, and 507 or 503 if it cannot be removed */
	async remove(id: string): Promise<void> {
		const record = this.find(id);
		if (await this.drop(id)) return;
		if (!this.#kept.has(id)) this.#set(id, record);
		throw this.failure("could not be removed from", "Try again");
	}

	/** @returns whether it is also removed from storage; a failure is not retried */
	drop(id: string): Promise<boolean> {
		this.#set(id, undefined);
		return this.#records.remove(id);
	}

	/** @returns rejection of a request with 507 or 503 */
	failure(what: string, advice: string): RequestError {
		const { noun, core } = this.#options;
		return new RequestError(core.storage.status, `The ${noun} ${what} ${core.storage.place}. ${advice}.`);
	}

	#set(id: string, record: Infer<S> | undefined): void {
		if (record) this.#kept.set(id, record);
		else this.#kept.delete(id);
		this.#options.onChange?.();
	}
}
