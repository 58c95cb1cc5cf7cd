/** Files in the NATS object store. */

import type { ObjectStore } from "@nats-io/obj";
import { messageOf } from "../../../device/message-of.js";
import { BusError } from "../../bus.js";
import type { Files } from "../../storage/blobs.js";
import type { NatsLink } from "./link.js";

/** Timeout for the next part. The client itself waits forever. */
const stalledMs = 5_000;

export class NatsFiles implements Files {
	readonly #link: NatsLink;
	readonly #store: ObjectStore;

	constructor(link: NatsLink, store: ObjectStore) {
		this.#link = link;
		this.#store = store;
	}

	async put(name: string, content: AsyncIterable<Uint8Array>): Promise<void> {
		await this.#link.run(async () => {
			const known = await this.#store.info(name);
			if (known && !known.deleted) return;
			// One of two concurrent uploads fails and removes its parts.
			const previousRevision = known?.revision ?? 0;
			await this.#store.put({ name }, ReadableStream.from(content), { previousRevision });
		});
	}

	async get(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
		const found = await this.#link.run(() => this.#store.get(name));
		// `data` rejects too.
		found?.error.catch(() => {});
		return found ? read(found.data) : undefined;
	}

	async remove(name: string): Promise<void> {
		await this.#link.run(() => this.#store.delete(name));
	}

	names(): Promise<readonly string[]> {
		return this.#link.run(async () => (await this.#store.list()).map(({ name }) => name));
	}
}

/** @throws {BusError} `timeout` */
async function* read(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
	const reader = stream.getReader();
	try {
		for (;;) {
			let timer: NodeJS.Timeout | undefined;
			const stalled = new Promise<never>((_resolve, reject) => {
				const give = () => reject(new BusError("timeout", "NATS sent no further part of a file."));
				timer = setTimeout(give, stalledMs);
			});
			const { done, value } = await Promise.race([reader.read(), stalled]).finally(() => clearTimeout(timer));
			if (done) return;
			yield value;
		}
	} catch (error) {
		if (error instanceof BusError) throw error;
		throw new BusError("timeout", messageOf(error));
	} finally {
		await reader.cancel().catch(() => {});
	}
}
