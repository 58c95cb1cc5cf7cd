/** A bucket of NATS, with watches that tell what changed while the server could not be reached. */

import {
	type ConsumerMessages,
	DeliverPolicy,
	JetStreamApiCodes,
	JetStreamApiError,
	type JetStreamClient,
	type JsMsg,
} from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import { type Bucket, BusError, type Entry, type Unsubscribe } from "../bus.js";
import type { NatsLink } from "./nats-link.js";

type OnChange = (key: string, entry: Entry | undefined) => void;

/** A server's consumer that is gone is noticed after two of these. */
const heartbeatMs = 1_000;
const retryMs = 1_000;
const notWritten: readonly number[] = [
	JetStreamApiCodes.StreamWrongLastSequence,
	JetStreamApiCodes.StreamWrongLastSequenceUnknown,
];

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
		return this.#link.ask(async () => {
			const entry = await this.#kv.get(encodeKey(key));
			return entry?.operation === "PUT" ? { text: entry.string(), revision: entry.revision } : undefined;
		});
	}

	set(key: string, text: string, revision: number): Promise<number | undefined> {
		const name = encodeKey(key);
		return this.#write(() =>
			revision === 0 ? this.#kv.create(name, text) : this.#kv.update(name, text, revision),
		);
	}

	async remove(key: string, revision: number): Promise<boolean> {
		const options = { previousSeq: revision };
		return (await this.#write(() => this.#kv.delete(encodeKey(key), options).then(() => true))) ?? false;
	}

	async watch(onChange: OnChange): Promise<Unsubscribe> {
		const watch = new Watch(this.#link, this.#client, this.#name, onChange);
		await watch.open();
		return () => watch.close();
	}

	/** @returns undefined if the key had another revision */
	#write<T>(work: () => Promise<T>): Promise<T | undefined> {
		return this.#link.ask(async () => {
			try {
				return await work();
			} catch (error) {
				if (error instanceof JetStreamApiError && notWritten.includes(error.code)) return undefined;
				throw error;
			}
		});
	}
}

/**
 * Reads the latest value of each key, then each change. After each connection it reads all again and tells what
 * differs: the server may have lost its place, or the bucket what was written last.
 */
class Watch {
	readonly #link: NatsLink;
	readonly #client: JetStreamClient;
	readonly #name: string;
	readonly #onChange: OnChange;
	/** Revisions as they were told. */
	readonly #known = new Map<string, number>();
	readonly #stopListening: Unsubscribe;
	#messages: ConsumerMessages | undefined;
	/** Counts the readings; messages of an earlier one are left out. */
	#reading = 0;
	#fail: (error: BusError) => void = () => {};
	#isOpening = true;
	#isClosed = false;
	#timer: NodeJS.Timeout | undefined;

	constructor(link: NatsLink, client: JetStreamClient, name: string, onChange: OnChange) {
		this.#link = link;
		this.#client = client;
		this.#name = name;
		this.#onChange = onChange;
		this.#stopListening = link.onStatus((isConnected) => {
			if (!isConnected) this.#stop();
			else if (!this.#isOpening) this.#readAgain();
		});
	}

	/** @throws {BusError} */
	async open(): Promise<void> {
		try {
			await this.#link.ask(() => this.#read());
			this.#isOpening = false;
		} catch (error) {
			this.close();
			throw error;
		}
	}

	close(): void {
		this.#isClosed = true;
		this.#stopListening();
		this.#stop();
	}

	#stop(): void {
		this.#reading += 1;
		clearTimeout(this.#timer);
		this.#messages?.stop();
		this.#messages = undefined;
		this.#fail(new BusError("away", "NATS cannot be reached."));
	}

	#readAgain(): void {
		if (this.#isClosed || !this.#link.isConnected) return;
		this.#stop();
		const reading = this.#reading + 1;
		this.#link
			.ask(() => this.#read())
			.catch(() => {
				if (reading === this.#reading) this.#timer = setTimeout(() => this.#readAgain(), retryMs).unref();
			});
	}

	/** Resolves once the present values were told. */
	async #read(): Promise<void> {
		this.#reading += 1;
		const reading = this.#reading;
		const consumer = await this.#client.consumers.get(`KV_${this.#name}`, {
			filter_subjects: `$KV.${this.#name}.>`,
			deliver_policy: DeliverPolicy.LastPerSubject,
		});
		const { num_pending: count } = await consumer.info(true);
		if (reading !== this.#reading) throw new BusError("away", "NATS cannot be reached.");
		/** Until the present values were told. */
		let missing: Set<string> | undefined = new Set(this.#known.keys());
		const isRead = new Promise<void>((resolve, reject) => {
			this.#fail = reject;
			const onRead = () => {
				for (const key of missing ?? []) this.#tell(key, undefined);
				missing = undefined;
				resolve();
			};
			const callback = (message: JsMsg) => {
				if (reading !== this.#reading) return;
				const { key, entry } = changeOf(message, this.#name);
				if (entry) missing?.delete(key);
				this.#tell(key, entry);
				if (missing && message.info.pending === 0) onRead();
			};
			consumer.consume({ callback, idle_heartbeat: heartbeatMs }).then((messages) => {
				if (reading !== this.#reading) return messages.stop();
				this.#messages = messages;
				if (count === 0) onRead();
				void this.#follow(messages, reading);
			}, reject);
		});
		await isRead;
	}

	/** The server that sends the changes may have ended while another one keeps the connection. */
	async #follow(messages: ConsumerMessages, reading: number): Promise<void> {
		for await (const { type } of messages.status()) if (type === "heartbeats_missed") break;
		if (reading === this.#reading) this.#readAgain();
	}

	#tell(key: string, entry: Entry | undefined): void {
		if (this.#known.get(key) === entry?.revision) return;
		if (entry) this.#known.set(key, entry.revision);
		else this.#known.delete(key);
		// The client would stop the watch without a word.
		try {
			this.#onChange(key, entry);
		} catch (defect) {
			queueMicrotask(() => {
				throw defect;
			});
		}
	}
}

function changeOf(message: JsMsg, name: string): { key: string; entry: Entry | undefined } {
	const key = decodeKey(message.subject.slice(`$KV.${name}.`.length));
	// Its time to live has ended, from server 2.11 on.
	const isRemoved = message.headers?.get("KV-Operation") || message.headers?.get("Nats-Marker-Reason");
	return { key, entry: isRemoved ? undefined : { text: message.string(), revision: message.seq } };
}

/** Keys have letters, digits and `-/_=.`: others are encoded as in quoted-printable. */
function encodeKey(key: string): string {
	const other = (sign: string) => `%${sign.charCodeAt(0).toString(16)}`;
	return (
		encodeURIComponent(key)
			.replace(/[.!'()*~]/g, other)
			.replaceAll("%", "=") || "="
	);
}

function decodeKey(name: string): string {
	try {
		return name === "=" ? "" : decodeURIComponent(name.replaceAll("=", "%"));
	} catch {
		// No key of a gateway. An error here would end the watch.
		return name;
	}
}
