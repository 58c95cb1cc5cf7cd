/**
 * A bus on NATS with JetStream. Connects for as long as it takes, with a drawn delay, so that many gateways do not
 * come back at one moment. Loaded only where NATS_URL is set.
 */

import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import {
	type ConnectionOptions,
	connect,
	credsAuthenticator,
	errors,
	type Msg,
	type NatsConnection,
	type Subscription,
	usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { coerce, lt } from "semver";
import { StartError } from "../problem.js";
import type { Settings } from "../settings.js";
import { type Bucket, type BucketOptions, type Bus, BusError, type Files, type Unsubscribe } from "./bus.js";
import { NatsBucket } from "./nats-bucket.js";
import { NatsFiles } from "./nats-files.js";

export interface NatsOptions extends NonNullable<Settings["nats"]> {
	/** Called once for each different one. */
	readonly onProblem: (sentence: string) => void;
}

interface Subscribed {
	readonly subject: string;
	readonly queue?: string;
	readonly onMessage: (message: Msg) => void;
	/** Undefined until the first connection. */
	active?: Subscription;
}

/** A server that hangs is noticed after two of these. */
const pingMs = 2_000;
const answerMs = 3_000;
const leastDelayMs = 250;
const mostDelayMs = 1_750;
/** How long the start waits for the first connection. */
const firstMs = 5_000;
/** Limit for sending the last messages when the bus is closed. */
const drainMs = 1_000;
/** JSStreamReplicasNotSupportedErr: a server that is alone. */
const noReplicas = 10_074;
const oldest = "2.11.0";

/** What buckets and files need of the connection. */
export interface NatsLink {
	/** @throws {BusError} `away`, `timeout` */
	ask<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T>;
	/** Called with true after each reconnection, with false after each loss. */
	onStatus(listener: (isConnected: boolean) => void): Unsubscribe;
	readonly isConnected: boolean;
}

export class NatsBus implements Bus, NatsLink {
	readonly #options: NatsOptions;
	readonly #listeners = new Set<(isConnected: boolean) => void>();
	readonly #subscribed = new Set<Subscribed>();
	readonly #problems = new Set<string>();
	/** By name; each opens it, or makes it. */
	readonly #stores = new Map<string, () => Promise<unknown>>();
	#connection: NatsConnection | undefined;
	#isConnected = false;
	#isClosed = false;
	/** Ends a wait between two tries to connect. */
	#stopWaiting = () => {};

	constructor(options: NatsOptions) {
		this.#options = options;
	}

	/**
	 * Connects. If no server can be reached within 5 s, that goes on in the background.
	 * @throws {StartError} if the server is too old
	 */
	async open(): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		const isLong = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, firstMs);
		});
		const first = this.#connect();
		await Promise.race([first, isLong]);
		clearTimeout(timer);
		const refusal = this.#connection && this.#findRefusal(this.#connection);
		if (!refusal) return;
		await this.close();
		throw new StartError(refusal);
	}

	get isConnected(): boolean {
		return this.#isConnected;
	}

	onStatus(listener: (isConnected: boolean) => void): Unsubscribe {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	publish(subject: string, text: string): void {
		// The client would keep it in memory until it is connected again.
		if (this.#isConnected) this.#connection?.publish(subject, text);
	}

	subscribe(subject: string, onMessage: (text: string, subject: string) => void): Unsubscribe {
		return this.#subscribe({ subject, onMessage: (message) => onMessage(message.string(), message.subject) });
	}

	serve(subject: string, answer: (text: string) => Promise<string>): Unsubscribe {
		const onMessage = (message: Msg) => {
			answer(message.string())
				.then((text) => this.#isConnected && message.respond(text))
				.catch(() => {});
		};
		return this.#subscribe({ subject, queue: "gateways", onMessage });
	}

	request(subject: string, text: string, timeoutMs: number): Promise<string> {
		return this.ask(async (connection) => {
			const answer = await connection.request(subject, text, { timeout: timeoutMs });
			return answer.string();
		});
	}

	bucket(name: string, { ttlMs }: BucketOptions = {}): Promise<Bucket> {
		return this.#open(name, async (connection, replicas) => {
			const client = jetstream(connection, { timeout: answerMs });
			// Only the leader's answer shows what was written last.
			const options = { replicas, allow_direct: false, ...(ttlMs !== undefined && { ttl: ttlMs }) };
			const kv = await new Kvm(client).create(name, options);
			return new NatsBucket(this, name, kv, client);
		});
	}

	files(name: string): Promise<Files> {
		return this.#open(name, async (connection, replicas) => {
			const store = await new Objm(jetstream(connection, { timeout: answerMs })).create(name, { replicas });
			return new NatsFiles(this, store);
		});
	}

	async close(): Promise<void> {
		const connection = this.#connection;
		const wasConnected = this.#isConnected;
		this.#isClosed = true;
		this.#stopWaiting();
		this.#set(false);
		this.#listeners.clear();
		if (!connection) return;
		let timer: NodeJS.Timeout | undefined;
		const isLong = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, drainMs);
		});
		if (wasConnected) await Promise.race([connection.drain().catch(() => {}), isLong]);
		clearTimeout(timer);
		await connection.close();
	}

	async ask<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
		if (!this.#connection || !this.#isConnected) throw new BusError("away", "NATS cannot be reached.");
		try {
			return await work(this.#connection);
		} catch (error) {
			throw this.#asBusError(error);
		}
	}

	/** @param make a bucket or a store of files, if it is missing */
	#open<T>(name: string, make: (connection: NatsConnection, replicas: number) => Promise<T>): Promise<T> {
		const open = () => this.#make(make);
		this.#stores.set(name, open);
		return open();
	}

	/** On as many servers as there are, at most three. */
	#make<T>(make: (connection: NatsConnection, replicas: number) => Promise<T>): Promise<T> {
		return this.ask(async (connection) => {
			const { connect_urls: known = [] } = connection.info ?? {};
			const isCluster = Math.max(known.length, this.#options.servers.length) >= 3;
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
		if (this.#connection) this.#activate(this.#connection, subscribed);
		return () => {
			this.#subscribed.delete(subscribed);
			subscribed.active?.unsubscribe();
		};
	}

	#activate(connection: NatsConnection, subscribed: Subscribed): void {
		const { subject, queue, onMessage } = subscribed;
		subscribed.active = connection.subscribe(subject, {
			...(queue !== undefined && { queue }),
			callback: (error, message) => {
				if (error) return this.#report(`NATS: ${error.message}`);
				// The client would stop to read without a word.
				try {
					onMessage(message);
				} catch (defect) {
					queueMicrotask(() => {
						throw defect;
					});
				}
			},
		});
	}

	async #connect(): Promise<void> {
		while (!this.#isClosed)
			try {
				const connection = await connect({
					...credentialsOf(this.#options),
					name: "gateway",
					timeout: answerMs,
					pingInterval: pingMs,
					maxPingOut: 2,
					maxReconnectAttempts: -1,
					ignoreAuthErrorAbort: true,
					reconnectDelayHandler: drawDelay,
				});
				this.#connection = connection;
				if (this.#isClosed) return await connection.close();
				return this.#onConnected(connection);
			} catch (error) {
				const why = error instanceof Error ? error.message : String(error);
				this.#report(`NATS cannot be reached (${why}); it is tried again.`);
				await this.#wait(drawDelay());
			}
	}

	#onConnected(connection: NatsConnection): void {
		void this.#follow(connection);
		for (const subscribed of this.#subscribed) this.#activate(connection, subscribed);
		this.#accept(connection);
	}

	async #follow(connection: NatsConnection): Promise<void> {
		for await (const status of connection.status()) {
			if (status.type === "disconnect") this.#set(false);
			if (status.type === "reconnect") {
				this.#accept(connection);
				void this.#makeAgain();
			}
			if (status.type === "error") this.#report(`NATS: ${status.error.message}`);
		}
	}

	/** Makes what is missing: a server may have come back without its data. */
	async #makeAgain(): Promise<void> {
		while (this.#isConnected)
			try {
				for (const open of this.#stores.values()) await open();
				return;
			} catch {
				await this.#wait(drawDelay());
			}
	}

	/** A server that is too old counts as none. */
	#accept(connection: NatsConnection): void {
		const refusal = this.#findRefusal(connection);
		if (refusal) this.#report(refusal);
		else this.#set(true);
	}

	#findRefusal({ info }: NatsConnection): string | undefined {
		const { version = "", host = "", port = 0 } = info ?? {};
		if (this.#options.allowOld || !lt(coerce(version) ?? "0.0.0", oldest)) return undefined;
		return `The nats-server at ${host}:${port} is ${version || "of an unknown version"}, but older ones than 2.11 can lose what was written when they are killed; install a newer one, or set NATS_ALLOW_OLD=1.`;
	}

	#set(isConnected: boolean): void {
		if (this.#isConnected === isConnected || (this.#isClosed && isConnected)) return;
		this.#isConnected = isConnected;
		if (isConnected) this.#problems.clear();
		for (const listener of this.#listeners) listener(isConnected);
	}

	#report(sentence: string): void {
		if (this.#problems.has(sentence) || this.#isClosed) return;
		this.#problems.add(sentence);
		this.#options.onProblem(sentence);
	}

	/** @returns other errors as they are */
	#asBusError(error: unknown): unknown {
		if (!(error instanceof Error) || error instanceof BusError) return error;
		const { message, name, cause } = error;
		const isTimeout = error instanceof errors.TimeoutError || cause instanceof errors.TimeoutError;
		if (isTimeout) return new BusError("timeout", message);
		const isUnserved = error instanceof errors.RequestError && error.isNoResponders();
		if (isUnserved) return new BusError("noResponders", message);
		const isWithoutJetStream = name === "JetStreamNotEnabled";
		if (isWithoutJetStream)
			this.#report("NATS answers without JetStream; start nats-server with --jetstream.");
		const isAway =
			isWithoutJetStream ||
			error instanceof JetStreamApiError ||
			error instanceof errors.RequestError ||
			error instanceof errors.ClosedConnectionError ||
			error instanceof errors.DrainingConnectionError ||
			error instanceof errors.ConnectionError;
		return isAway ? new BusError("away", message) : error;
	}

	#wait(ms: number): Promise<void> {
		return new Promise((resolve) => {
			const timer = setTimeout(resolve, ms).unref();
			this.#stopWaiting = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}
}

/** A user and a password in the first address count for all. */
function credentialsOf({ servers, credentials, authority }: NatsOptions): ConnectionOptions {
	const { username = "", password = "" } = servers[0] ?? {};
	const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
	const isTls = authority !== undefined || servers.some(({ protocol }) => protocol === "tls:");
	return {
		servers: servers.map(({ host }) => host),
		...(credentials && { authenticator: credsAuthenticator(credentials) }),
		...(user && !credentials && { authenticator: usernamePasswordAuthenticator(user, secret) }),
		...(isTls && { tls: { ...(authority && { ca: Buffer.from(authority).toString() }) } }),
	};
}

function drawDelay(): number {
	return leastDelayMs + Math.random() * (mostDelayMs - leastDelayMs);
}
