/** NATS bucket. Its watches also report changes made while the server was unreachable. */

import { DeliverPolicy, type JetStreamClient, type JsMsg } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { Bucket } from "../../bus.js";
import type { Entry } from "../../storage/log.js";
import type { NatsLink } from "./link.js";
import { decodeName, encodeName, guarded, NatsReader, unlessOverwritten } from "./reader.js";

export function natsBucket(link: NatsLink, name: string, kv: KV, client: JetStreamClient): Bucket {
	const get: Bucket["get"] = (key) =>
		link.run(async () => {
			const entry = await kv.get(encodeName(key));
			return entry?.operation === "PUT" ? { text: entry.string(), revision: entry.revision } : undefined;
		});
	return {
		get,
		set: (key, text, revision) => {
			const encoded = encodeName(key);
			const write = () => (revision === 0 ? kv.create(encoded, text) : kv.update(encoded, text, revision));
			return link.run(() => unlessOverwritten(write));
		},
		remove: async (key, revision) => {
			const remove = () => kv.delete(encodeName(key), { previousSeq: revision }).then(() => true);
			return (await link.run(() => unlessOverwritten(remove))) ?? false;
		},
		watch: (onChange) => {
			/** Revisions passed to `onChange`, by key. */
			const known = new Map<string, number>();
			/** Keys not yet seen in the current read. */
			let missing = new Set<string>();
			const pass = (key: string, entry: Entry | undefined) => {
				if (known.get(key) === entry?.revision) return;
				if (entry) known.set(key, entry.revision);
				else known.delete(key);
				onChange(key, entry);
			};
			const subjects = `$KV.${name}.`;
			const reader = new NatsReader({
				link,
				client,
				stream: `KV_${name}`,
				consumer: { filter_subjects: `${subjects}>`, deliver_policy: DeliverPolicy.LastPerSubject },
				onBegin: () => {
					missing = new Set(known.keys());
				},
				onMessage: (message) => {
					const key = decodeName(message.subject.slice(subjects.length));
					missing.delete(key);
					pass(key, entryOf(message));
				},
				onRead: async () => {
					// A key that was rewritten when the read began was not counted.
					for (const key of missing)
						if (!(await get(key)) && missing.has(key)) guarded(() => pass(key, undefined));
				},
			});
			return reader.open();
		},
	};
}

/** @returns undefined if the key was removed */
function entryOf(message: JsMsg): Entry | undefined {
	return message.headers?.get("KV-Operation") ? undefined : { text: message.string(), revision: message.seq };
}
