/**
 * Connection to NATS. It reconnects without limit, with a random delay so that gateways do not reconnect
 * simultaneously.
 */

import { setTimeout as delay } from "node:timers/promises";
import { JetStreamApiError } from "@nats-io/jetstream";
import {
	type ConnectionOptions,
	connect,
	credsAuthenticator,
	errors,
	type NatsConnection,
	usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { coerce, lt } from "semver";
import { messageOf } from "../../../device/message-of.js";
import { BusError } from "../../bus.js";
import { StartError } from "../../problem.js";
import type { Unsubscribe } from "../../storage/log.js";
import type { NatsSettings } from "../settings.js";

export interface NatsOptions extends NatsSettings {
	/** Called once per distinct problem. */
	readonly onProblem: (sentence: string) => void;
}

/** Timeout for a response of the server. */
export const answerMs = 3_000;
/** Ping interval. A hanging server is detected after two. */
const pingMs = 2_000;
const leastDelayMs = 250;
const mostDelayMs = 1_750;
/** Time the start waits for the first connection. */
const firstMs = 5_000;
/** Time limit for sending the last messages on close. */
const drainMs = 1_000;
const oldest = "2.11.0";

export class NatsLink {
	readonly #options: NatsOptions;
	readonly #listeners = new Set<(isConnected: boolean) => void>();
	readonly #problems = new Set<string>();
	#connection: NatsConnection | undefined;
	#isConnected = false;
	#isClosed = false;
	/** Ends the pause between two attempts. */
	#stopWaiting = () => {};

	constructor(options: NatsOptions) {
		this.#options = options;
	}

	/**
	 * Connects. After 5 s without a connection, attempts continue in the background.
	 * @throws {StartError} if the server is too old
	 */
	async open(): Promise<void> {
		await Promise.race([this.#connect(), delay(firstMs, undefined, { ref: false })]);
		const rejection = this.#connection && this.#findVersionProblem(this.#connection);
		if (!rejection) return;
		await this.close();
		throw new StartError(rejection);
	}

	get isConnected(): boolean {
		return this.#isConnected;
	}

	/** Adds a listener, called after those added before. */
	onStatus(listener: (isConnected: boolean) => void): Unsubscribe {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	async close(): Promise<void> {
		const connection = this.#connection;
		const wasConnected = this.#isConnected;
		this.#isClosed = true;
		this.#stopWaiting();
		this.#set(false);
		this.#listeners.clear();
		if (!connection) return;
		const isLong = delay(drainMs, undefined, { ref: false });
		if (wasConnected) await Promise.race([connection.drain().catch(() => {}), isLong]);
		await connection.close();
	}

	/** Undefined before the first connection, but not while disconnected later. */
	get connection(): NatsConnection | undefined {
		return this.#connection;
	}

	/**
	 * Runs an operation on the connection.
	 * @throws {BusError} `disconnected`, `timeout`; other errors unchanged
	 */
	async run<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
		if (!this.#connection || !this.#isConnected) throw new BusError("disconnected", "NATS is unreachable.");
		try {
			return await work(this.#connection);
		} catch (error) {
			throw this.#asBusError(error);
		}
	}

	/** Reports a problem once. */
	report(sentence: string): void {
		if (this.#problems.has(sentence) || this.#isClosed) return;
		this.#problems.add(sentence);
		this.#options.onProblem(sentence);
	}

	/** Waits for a random time between two attempts; less if the connection is closed. */
	pause(): Promise<void> {
		const waiting = new AbortController();
		this.#stopWaiting = () => waiting.abort();
		return delay(randomDelay(), undefined, waiting).catch(() => {});
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
					reconnectDelayHandler: randomDelay,
				});
				this.#connection = connection;
				if (this.#isClosed) return await connection.close();
				void this.#follow(connection);
				return this.#accept(connection);
			} catch (error) {
				this.report(`NATS is unreachable (${messageOf(error)}); retrying.`);
				await this.pause();
			}
	}

	async #follow(connection: NatsConnection): Promise<void> {
		for await (const status of connection.status()) {
			if (status.type === "disconnect") this.#set(false);
			if (status.type === "reconnect") this.#accept(connection);
			if (status.type === "error") this.report(`NATS: ${status.error.message}`);
		}
	}

	/** Accepts a connection unless the server is too old. */
	#accept(connection: NatsConnection): void {
		const rejection = this.#findVersionProblem(connection);
		if (rejection) this.report(rejection);
		else this.#set(true);
	}

	#findVersionProblem({ info }: NatsConnection): string | undefined {
		const { version = "", host = "", port = 0 } = info ?? {};
		if (this.#options.allowOld || !lt(coerce(version) ?? "0.0.0", oldest)) return undefined;
		return `The nats-server at ${host}:${port} has version ${version || "unknown"}; versions below 2.11 may lose acknowledged writes when killed. Upgrade it or set NATS_ALLOW_OLD=1.`;
	}

	#set(isConnected: boolean): void {
		if (this.#isConnected === isConnected || (this.#isClosed && isConnected)) return;
		this.#isConnected = isConnected;
		if (isConnected) this.#problems.clear();
		for (const listener of this.#listeners) listener(isConnected);
	}

	/** Converts an error to a BusError where possible. */
	#asBusError(error: unknown): unknown {
		if (!(error instanceof Error) || error instanceof BusError) return error;
		const { message, name, cause } = error;
		const isTimeout = error instanceof errors.TimeoutError || cause instanceof errors.TimeoutError;
		if (isTimeout) return new BusError("timeout", message);
		const isWithoutJetStream = name === "JetStreamNotEnabled";
		if (isWithoutJetStream) this.report("JetStream is disabled. Start nats-server with --jetstream.");
		const isAway =
			isWithoutJetStream ||
			error instanceof JetStreamApiError ||
			error instanceof errors.RequestError ||
			error instanceof errors.ClosedConnectionError ||
			error instanceof errors.DrainingConnectionError ||
			error instanceof errors.ConnectionError;
		return isAway ? new BusError("disconnected", message) : error;
	}
}

/** Returns authentication options. User and password of the first URL apply to all. */
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

function randomDelay(): number {
	return leastDelayMs + Math.random() * (mostDelayMs - leastDelayMs);
}
