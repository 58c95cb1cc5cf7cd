/** Log in a NATS stream, with a subject per key. */

import {
	DeliverPolicy,
	JetStreamApiCodes,
	JetStreamApiError,
	type JetStreamClient,
	type JetStreamManager,
} from "@nats-io/jetstream";
import type { Entry, Log, LogReader, Unsubscribe } from "../../storage/log.js";
import type { NatsLink } from "./link.js";
import { decodeName, encodeName, NatsReader, unlessOverwritten } from "./reader.js";

export class NatsLog implements Log {
	readonly #link: NatsLink;
	readonly #name: string;
	readonly #client: JetStreamClient;
	readonly #manager: JetStreamManager;

	constructor(link: NatsLink, name: string, client: JetStreamClient, manager: JetStreamManager) {
		this.#link = link;
		this.#name = name;
		this.#client = client;
		this.#manager = manager;
	}

	/** Opens the stream, and creates it if it is missing. */
	static async open(
		link: NatsLink,
		name: string,
		client: JetStreamClient,
		replicas: number,
	): Promise<NatsLog> {
		const manager = await client.jetstreamManager();
		const found = await manager.streams.info(streamOf(name)).catch((error: unknown) => {
			if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return;
			throw error;
		});
		if (!found)
			await manager.streams.add({ name: streamOf(name), subjects: [`${name}.>`], num_replicas: replicas });
		return new NatsLog(link, name, client, manager);
	}

	append(key: string, text: string, after: number): Promise<number | undefined> {
		const options = { expect: { lastSubjectSequence: after } };
		const append = async () => (await this.#client.publish(this.#subjectOf(key), text, options)).seq;
		return this.#link.run(() => unlessOverwritten(append));
	}

	async removeBefore(key: string, seq: number): Promise<void> {
		const filter = this.#subjectOf(key);
		await this.#link.run(() => this.#manager.streams.purge(streamOf(this.#name), { filter, seq }));
	}

	read({ onAll, onEntry }: LogReader): Promise<Unsubscribe> {
		let all: [string, Entry][] | undefined;
		const reader = new NatsReader({
			link: this.#link,
			client: this.#client,
			stream: streamOf(this.#name),
			consumer: { filter_subjects: `${this.#name}.>`, deliver_policy: DeliverPolicy.All },
			onBegin: () => {
				all = [];
			},
			onMessage: (message) => {
				const key = decodeName(message.subject.slice(this.#name.length + 1));
				const entry = { text: message.string(), revision: message.seq };
				if (all) all.push([key, entry]);
				else onEntry(key, entry);
			},
			onRead: () => {
				const read = all ?? [];
				all = undefined;
				onAll(read);
			},
		});
		return reader.open();
	}

	#subjectOf(key: string): string {
		return `${this.#name}.${encodeName(key)}`;
	}
}

/** Replaces dots, which stream names must not contain. */
function streamOf(name: string): string {
	return name.toUpperCase();
}
