/** Bus on NATS with JetStream. Loaded only with NATS_URL. */

import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import type { Bucket, Bus } from "../../bus.js";
import type { Files } from "../../storage/blobs.js";
import type { Log, Unsubscribe } from "../../storage/log.js";
import { natsBucket } from "./bucket.js";
import { natsFiles } from "./files.js";
import { answerMs, NatsLink, type NatsOptions } from "./link.js";
import { openNatsLog } from "./log.js";
import { guarded } from "./reader.js";

interface Subscribed {
	readonly subject: string;
	readonly onMessage: (message: Msg) => void;
	/** Undefined until the first connection. */
	active?: Subscription;
}

/** JSStreamReplicasNotSupportedErr: the server is not clustered. */
const noReplicas = 10_074;

export class NatsBus extends NatsLink implements Bus {
	readonly #serverCount: number;
	readonly #subscribed = new Set<Subscribed>();
	/** Functions that open or create each store, by name. */
	readonly #stores = new Map<string, () => Promise<unknown>>();

	constructor(options: NatsOptions) {
		super(options);
		this.#serverCount = options.servers.length;
		// The first listener, so that others find their subscriptions active.
		this.onStatus((isConnected) => {
			if (!isConnected) return;
			for (const subscribed of this.#subscribed) this.#activate(subscribed);
			void this.#recreateStores();
		});
	}

	publish(subject: string, text: string): void {
		// Otherwise the client would buffer it until it reconnects.
		if (this.isConnected) this.connection?.publish(subject, text);
	}

	subscribe(subject: string, onMessage: (text: string, subject: string) => void): Unsubscribe {
		return this.#subscribe({ subject, onMessage: (message) => onMessage(message.string(), message.subject) });
	}

	serve(subject: string, answer: (text: string) => Promise<string>): Unsubscribe {
		const onMessage = (message: Msg) => {
			answer(message.string())
				.then((text) => this.isConnected && message.respond(text))
				.catch(() => {});
		};
		return this.#subscribe({ subject, onMessage });
	}

	request(subject: string, text: string, timeoutMs: number): Promise<string> {
		return this.run(async (connection) => {
			const answer = await connection.request(subject, text, { timeout: timeoutMs });
			return answer.string();
		});
	}

	bucket(name: string): Promise<Bucket> {
		return this.#open(name, async (connection, replicas) => {
			const client = jetstream(connection, { timeout: answerMs });
			// Only the leader is guaranteed to return the latest write.
			const kv = await new Kvm(client).create(name, { replicas, allow_direct: false });
			return natsBucket(this, name, kv, client);
		});
	}

	buckets(): Promise<readonly string[]> {
		return this.run(async (connection) => {
			const names: string[] = [];
			const client = jetstream(connection, { timeout: answerMs });
			for await (const { bucket } of new Kvm(client).list()) names.push(bucket);
			return names;
		});
	}

	log(name: string): Promise<Log> {
		return this.#open(name, (connection, replicas) =>
			openNatsLog(this, name, jetstream(connection, { timeout: answerMs }), replicas),
		);
	}

	files(name: string): Promise<Files> {
		return this.#open(name, async (connection, replicas) => {
			const store = await new Objm(jetstream(connection, { timeout: answerMs })).create(name, { replicas });
			return natsFiles(this, store);
		});
	}

	/** @param make creates a missing bucket or file store */
	#open<T>(name: string, make: (connection: NatsConnection, replicas: number) => Promise<T>): Promise<T> {
		const open = () => this.#make(make);
		this.#stores.set(name, open);
		return open();
	}

	/** Replicates to as many servers as there are, up to three. */
	#make<T>(make: (connection: NatsConnection, replicas: number) => Promise<T>): Promise<T> {
		return this.run(async (connection) => {
			const { connect_urls: known = [] } = connection.info ?? {};
			const isCluster = Math.max(known.length, this.#serverCount) >= 3;
			try {
				return await make(connection, isCluster ? 3 : 1);
			} catch (error) {
				if (error instanceof JetStreamApiError && error.code === noReplicas) return make(connection, 1);
				throw error;
			}
		});
	}

	#subscribe(subscribed: Subscribed): Unsubscribe {
		this.#subscribed.add(subscribed);
		this.#activate(subscribed);
		return () => {
			this.#subscribed.delete(subscribed);
			subscribed.active?.unsubscribe();
		};
	}

	/** Subscribes once there is a connection; the client repeats it at each reconnection. */
	#activate(subscribed: Subscribed): void {
		const { subject, onMessage } = subscribed;
		if (!this.connection) return;
		subscribed.active ??= this.connection.subscribe(subject, {
			callback: (error, message) => {
				if (error) this.report(`NATS: ${error.message}`);
				else guarded(() => onMessage(message));
			},
		});
	}

	/** Creates missing stores, as a server may have lost its data. */
	async #recreateStores(): Promise<void> {
		while (this.isConnected)
			try {
				for (const open of this.#stores.values()) await open();
				return;
			} catch {
				await this.pause();
			}
	}
}
