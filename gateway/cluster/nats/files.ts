/** Files in the NATS object store. */

import { setTimeout as pause } from "node:timers/promises";
import type { ObjectStore } from "@nats-io/obj";
import { messageOf } from "../../../device/message-of.js";
import { BusError } from "../../bus.js";
import type { Files } from "../../storage/blobs.js";
import type { NatsLink } from "./link.js";

/** Timeout for the next part. The client itself waits forever. */
const stalledMs = 5_000;

export function natsFiles(link: NatsLink, store: ObjectStore): Files {
	return {
		put: (name, content) =>
			link.run(async () => {
				const known = await store.info(name);
				if (known && !known.deleted) return;
				// One of two concurrent uploads fails and removes its parts.
				const previousRevision = known?.revision ?? 0;
				await store.put({ name }, ReadableStream.from(content), { previousRevision });
			}),
		get: async (name) => {
			const found = await link.run(() => store.get(name));
			// `data` rejects too.
			found?.error.catch(() => {});
			return found ? read(found.data) : undefined;
		},
		remove: async (name) => void (await link.run(() => store.delete(name))),
		names: () => link.run(async () => (await store.list()).map(({ name }) => name)),
	};
}

/** @throws {BusError} `timeout` */
async function* read(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
	const reader = stream.getReader();
	try {
		for (;;) {
			const part = await Promise.race([reader.read(), pause(stalledMs, undefined, { ref: false })]);
			if (!part) throw new BusError("timeout", "NATS sent no further part of a file.");
			if (part.done) return;
			yield part.value;
		}
	} catch (error) {
		if (error instanceof BusError) throw error;
		throw new BusError("timeout", messageOf(error));
	} finally {
		await reader.cancel().catch(() => {});
	}
}
