/** The connection to the MQTT broker, tried until it stands. What the broker refuses is said once, by topic, and counted. */

import { connect, ErrorWithReasonCode, ErrorWithSubackPacket, type MqttClient } from "mqtt";
import type { Core } from "../extension.js";
import type { MqttSettings } from "./settings.js";

const reconnectMs = 2_000;
/** Without a retained message: all have come. A broker does not say which one is the last. */
const quietMs = 500;
/** The broker sends no larger message. */
const maximumPacketSize = 64 * 1024;

export interface BrokerOptions {
	readonly core: Pick<Core, "log" | "metrics">;
	readonly mqtt: MqttSettings;
	/** The broker ends an older connection with the same one. */
	readonly clientId: string;
	/** Retained there: `online` is to be published, `offline` is said by the broker once the connection has ended. */
	readonly statusTopic: string;
	/** Subscribed to at each connection, without own messages. */
	readonly topics: readonly string[];
	/** It is connected, and what was retained of these topics has come. */
	readonly onReady: () => void;
	/** @param isRetained from before the subscription */
	readonly onMessage: (topic: string, text: string, isRetained: boolean) => void;
}

export class Broker {
	readonly #options: BrokerOptions;
	readonly #client: MqttClient;
	readonly #refusals;
	/** What was refused, with `+` for devices. */
	readonly #refused = new Set<string>();
	/** Until it is ready. */
	#quiet: NodeJS.Timeout | undefined;
	#hasRead = false;
	/** Why it is not connected, as it was said. */
	#problem = "";

	constructor(options: BrokerOptions) {
		this.#options = options;
		const { core, mqtt, clientId, statusTopic } = options;
		const { log, metrics } = core;
		const { url, username, password, authority } = mqtt;
		const publishes = metrics.counter("gateway_mqtt_publishes_total", "Messages to the MQTT broker");
		this.#refusals = metrics.counter(
			"gateway_mqtt_refusals_total",
			"Messages and subscriptions that the MQTT broker refused",
			"what",
		);
		metrics.watch("gateway_mqtt_connected", "1: the MQTT broker is connected", () =>
			Number(this.isConnected),
		);
		const client = connect(url, {
			...(username !== undefined && { username }),
			...(password !== undefined && { password }),
			...(authority && { ca: authority }),
			protocolVersion: 5,
			clientId,
			reconnectPeriod: reconnectMs,
			reconnectOnConnackError: true,
			// Done at each connection.
			resubscribe: false,
			properties: { maximumPacketSize },
			will: { topic: statusTopic, payload: Buffer.from("offline"), qos: 1, retain: true },
		});
		this.#client = client;
		client.on("connect", () => {
			this.#problem = "";
			log.info({ broker: url }, "MQTT: connected");
			this.#hasRead = false;
			void this.#subscribe().then(() => this.#wait());
		});
		client.on("message", (topic, payload, { retain }) => {
			if (retain && this.#quiet) this.#wait();
			options.onMessage(topic, payload.toString(), retain);
		});
		client.on("close", () => this.#stopWaiting());
		client.on("packetsend", ({ cmd }) => cmd === "publish" && publishes.inc());
		client.on("error", (error) => this.#report(error.message || String(error)));
		client.on("disconnect", ({ reasonCode }) =>
			this.#report(`the broker ended the connection (${reasonCode})`),
		);
		client.on("offline", () => this.#report(this.#problem || "the connection was lost"));
	}

	get isConnected(): boolean {
		return this.#client.connected;
	}

	/** Whether what was retained has come. */
	get isReady(): boolean {
		return this.isConnected && this.#hasRead;
	}

	/** Without a connection it waits for one. @returns false if the broker refuses it */
	async retain(topic: string, text: string): Promise<boolean> {
		const done = this.#client.publishAsync(topic, text, { qos: 1, retain: true });
		return this.#isTaken("message", topic.replace(/[^/]+(\/(config|state|availability))$/, "+$1"), done);
	}

	/** It is lost without a connection. */
	send(topic: string, text: string): void {
		if (this.isConnected) this.#client.publish(topic, text);
	}

	/** Without a DISCONNECT packet: the broker then publishes the will (MQTT 5, section 3.1.2.5). */
	close(): void {
		this.#stopWaiting();
		this.#client.end(true);
	}

	async #subscribe(): Promise<void> {
		const subscribe = (topic: string) => this.#client.subscribeAsync(topic, { qos: 1, nl: true });
		const { topics } = this.#options;
		await Promise.all(topics.map((topic) => this.#isTaken("subscription", topic, subscribe(topic))));
	}

	#wait(): void {
		this.#stopWaiting();
		if (!this.isConnected) return;
		this.#quiet = setTimeout(() => {
			this.#quiet = undefined;
			this.#hasRead = true;
			this.#options.onReady();
		}, quietMs).unref();
	}

	#stopWaiting(): void {
		clearTimeout(this.#quiet);
		this.#quiet = undefined;
	}

	/** Once for each reason, until it is connected again. */
	#report(problem: string): void {
		const { core, mqtt } = this.#options;
		if (problem !== this.#problem)
			core.log.warn({ broker: mqtt.url, problem }, "MQTT: tried again until connected");
		this.#problem = problem;
	}

	async #isTaken(what: "message" | "subscription", topic: string, done: Promise<unknown>): Promise<boolean> {
		try {
			await done;
		} catch (error) {
			const problem = rejectionOf(error);
			// Another error is of the connection, after which all is done again.
			if (problem === undefined) return true;
			this.#refusals.inc({ what });
			const key = `${what} ${topic}`;
			if (!this.#refused.has(key)) {
				const { core, mqtt } = this.#options;
				core.log.warn({ broker: mqtt.url, what, topic, problem }, "MQTT: refused; allow it at the broker");
			}
			this.#refused.add(key);
			return false;
		}
		return true;
	}
}

/** @returns why the broker refuses, with the reason of MQTT 5; undefined: it does not */
function rejectionOf(error: unknown): string | undefined {
	if (error instanceof ErrorWithReasonCode) return `${error.message} (${error.code})`;
	if (!(error instanceof ErrorWithSubackPacket)) return undefined;
	const [reason] = error.packet?.granted ?? [];
	return reason === undefined ? undefined : `${error.message} (${reason})`;
}
