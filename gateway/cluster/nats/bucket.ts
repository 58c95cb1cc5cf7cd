/** NATS bucket. Its watches also report changes made while the server was unreachable. */

import { DeliverPolicy, type JetStreamClient, type JsMsg } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { Bucket } from "../../bus.js";
import type { Entry, Unsubscribe } from "../../storage/log.js";
import type { NatsLink } from "./link.js";
import { decodeName, encodeName, guarded, NatsReader, unlessOverwritten } from "./reader.js";

export class NatsBucket implements Bucket {
	readonly #link: NatsLink;
	readonly #name: string;
	readonly #kv: KV;
	readonly #client: JetStreamClient;

	constructor(link: NatsLink, name: string, kv: KV, client: JetStreamClient) {
		this.#link = link;
		this.#name = name;
		this.#kv = kv;
		this.#client = client;
	}

	get(key: string): Promise<Entry | undefined> {
		return this.#link.run(async () => {
			const entry = await this.#kv.get(encodeName(key));
			return entry?.operation === "PUT" ? { text: entry.string(), revision: entry.revision } : undefined;
		});
	}

	set(key: string, text: string, revision: number): Promise<number | undefined> {
		const name = encodeName(key);
		const write = () =>
			revision === 0 ? this.#kv.create(name, text) : this.#kv.update(name, text, revision);
		return this.#link.run(() => unlessOverwritten(write));
	}

	async remove(key: string, revision: number): Promise<boolean> {
		const remove = () => this.#kv.delete(encodeName(key), { previousSeq: revision }).then(() => true);
		return (await this.#link.run(() => unlessOverwritten(remove))) ?? false;
	}

	watch(onChange: (key: string, entry: Entry | undefined) => void): Promise<Unsubscribe> {
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
		const reader = new NatsReader({
			link: this.#link,
			client: this.#client,
			stream: `KV_${this.#name}`,
			consumer: {
				filter_subjects: `$KV.${this.#name}.>`,
				deliver_policy: DeliverPolicy.LastPerSubject,
			},
			onBegin: () => {
				missing = new Set(known.keys());
			},
			onMessage: (message) => {
				const key = decodeName(message.subject.slice(`$KV.${this.#name}.`.length));
				const entry = entryOf(message);
				missing.delete(key);
				pass(key, entry);
			},
			onRead: async () => {
				// A key that was rewritten when the read began was not counted.
				for (const key of missing)
					if (!(await this.get(key)) && missing.has(key)) guarded(() => pass(key, undefined));
			},
		});
		return reader.open();
	}
}

/** @returns undefined if the key was removed */
function entryOf(message: JsMsg): Entry | undefined {
	return message.headers?.get("KV-Operation") ? undefined : { text: message.string(), revision: message.seq };
}
