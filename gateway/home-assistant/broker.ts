/** The connection to the MQTT broker. It is made again by itself; what is published meanwhile is not kept. */

import { Socket } from "node:net";
import { connect, type IPublishPacket, type MqttClient } from "mqtt";
import type { Settings } from "../settings.js";

export interface BrokerOptions {
	readonly settings: NonNullable<Settings["mqtt"]>;
	/** The broker ends an older connection with the same id, and publishes its will then. */
	readonly clientId: string;
	/** The broker publishes `offline` there, retained, once the connection is lost. */
	readonly willTopic: string;
	readonly topics: readonly string[];
	/** Called once `topics` are subscribed to. */
	readonly onConnected: (connection: Connection) => void;
	/** @param isRetained from before the subscription */
	readonly onMessage: (topic: string, payload: Buffer, isRetained: boolean) => void;
	/** Called once for each reason, until it is connected again. */
	readonly onProblem: (problem: string) => void;
}

export interface Connection {
	readonly isOpen: boolean;
	/** Resolves once there is room for the next. What a lost connection has not brought is not kept. */
	publish(topic: string, payload: string, isRetained: boolean): Promise<void>;
}

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
const leaveMs = 2_000;
/** Brokers take at least 20. */
const unansweredAtMost = 16;
/** The broker sends no larger message. */
const maximumPacketSize = 64 * 1024;

export class Broker {
	readonly #options: BrokerOptions;
	#client: MqttClient | undefined;
	#timer: NodeJS.Timeout | undefined;
	#pauseMs = firstPauseMs;
	#problem = "";
	#isClosed = false;

	constructor(options: BrokerOptions) {
		this.#options = options;
	}

	get isConnected(): boolean {
		return this.#client?.connected === true;
	}

	/** A client for each attempt: mqtt.js would send what an earlier connection has left, older than what follows. */
	open(): void {
		const { settings, clientId, willTopic, onMessage } = this.#options;
		const { url, username, password, authority } = settings;
		const client = connect(url, {
			protocolVersion: 5,
			clientId,
			clean: true,
			reconnectPeriod: 0,
			properties: { maximumPacketSize },
			will: { topic: willTopic, payload: Buffer.from("offline"), qos: 1, retain: true },
			...(username !== undefined && { username }),
			...(password !== undefined && { password }),
			...(authority && { ca: authority }),
		});
		this.#client = client;
		client.on("connect", () => void this.#begin(client));
		client.on("message", (topic, payload, packet: IPublishPacket) =>
			onMessage(topic, payload, packet.retain),
		);
		client.on("error", (error) => {
			this.#report(error.message || String(error));
			client.end(true);
		});
		client.on("disconnect", ({ reasonCode }) =>
			this.#report(`the broker ended the connection (${reasonCode})`),
		);
		client.once("close", () => {
			client.end(true);
			if (this.#isClosed) return;
			this.#report("the connection was lost");
			this.#timer = setTimeout(() => this.open(), this.#pauseMs).unref();
			this.#pauseMs = Math.min(longestPauseMs, 2 * this.#pauseMs);
		});
	}

	/** Publishes `offline` itself, as the broker publishes no will then. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		const client = this.#client;
		if (!client) return;
		const late = new Promise((resolve) => setTimeout(resolve, leaveMs).unref());
		if (client.connected) {
			const left = client.publishAsync(this.#options.willTopic, "offline", { qos: 1, retain: true });
			await Promise.race([left.catch(() => {}), late]);
			await Promise.race([client.endAsync().catch(() => {}), late]);
		}
		client.end(true);
	}

	async #begin(client: MqttClient): Promise<void> {
		// Otherwise each of the broker's answers is waited for: 40 ms.
		if (client.stream instanceof Socket) client.stream.setNoDelay(true);
		try {
			await client.subscribeAsync([...this.#options.topics], { qos: 1 });
		} catch (error) {
			this.#report(`a subscription was refused: ${error instanceof Error ? error.message : String(error)}`);
			return void client.end(true);
		}
		this.#pauseMs = firstPauseMs;
		this.#problem = "";
		const unanswered = new Set<Promise<unknown>>();
		this.#options.onConnected({
			get isOpen() {
				return client.connected;
			},
			publish: async (topic, payload, retain) => {
				const sent = client.publishAsync(topic, payload, { qos: 1, retain }).catch(() => {});
				unanswered.add(sent);
				void sent.then(() => unanswered.delete(sent));
				if (unanswered.size >= unansweredAtMost) await Promise.race(unanswered);
			},
		});
	}

	#report(problem: string): void {
		if (problem === this.#problem || this.#isClosed) return;
		this.#problem = problem;
		this.#options.onProblem(problem);
	}
}
