/**
 * Connection to the MQTT broker, with unlimited retries. Rejections by the broker are counted, and logged
 * once per topic.
 */

import { connect, ErrorWithReasonCode, ErrorWithSubackPacket, type MqttClient } from "mqtt";
import type { Core } from "../extension.js";
import type { MqttSettings } from "./settings.js";

const reconnectMs = 2_000;
/** Time without a retained message after which all have arrived, as brokers do not mark the last one. */
const quietMs = 500;
/** Maximum size of messages from the broker. */
const maximumPacketSize = 64 * 1024;

export interface BrokerOptions {
	readonly core: Pick<Core, "log" | "metrics">;
	readonly mqtt: MqttSettings;
	/** Client id. The broker closes an older connection with the same one. */
	readonly clientId: string;
	/** Topic of the retained status: `online` is published, `offline` is the will. */
	readonly statusTopic: string;
	/** Topics subscribed to at each connection, without own messages. */
	readonly topics: readonly string[];
	/** Called once connected, after the retained messages of these topics. */
	readonly onReady: () => void;
	/** @param isRetained whether it was published before the subscription */
	readonly onMessage: (topic: string, text: string, isRetained: boolean) => void;
}

export class Broker {
	readonly #options: BrokerOptions;
	readonly #client: MqttClient;
	readonly #rejections;
	/** Rejected topics, with `+` for devices. */
	readonly #rejected = new Set<string>();
	/** Timer until the connection is ready. */
	#quiet: NodeJS.Timeout | undefined;
	#hasRead = false;
	/** Reported reason of the disconnection. */
	#problem = "";

	constructor(options: BrokerOptions) {
		this.#options = options;
		const { core, mqtt, clientId, statusTopic } = options;
		const { log, metrics } = core;
		const { url, username, password, authority } = mqtt;
		const publishes = metrics.counter("gateway_mqtt_publishes_total", "Messages to the MQTT broker");
		this.#rejections = metrics.counter(
			"gateway_mqtt_rejections_total",
			"Messages and subscriptions that the MQTT broker rejected",
			{ what: ["message", "subscription"] },
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
			// `#subscribe` does it at each connection.
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

	/** Whether the retained messages have arrived. */
	get isReady(): boolean {
		return this.isConnected && this.#hasRead;
	}

	/**
	 * Publishes a retained message, waiting for a connection.
	 * @returns false if the broker rejects it
	 */
	async retain(topic: string, text: string): Promise<boolean> {
		const done = this.#client.publishAsync(topic, text, { qos: 1, retain: true });
		return this.#isTaken("message", topic.replace(/[^/]+(\/(config|state|availability))$/, "+$1"), done);
	}

	/** Publishes a message, which is lost without a connection. */
	send(topic: string, text: string): void {
		if (this.isConnected) this.#client.publish(topic, text);
	}

	/** Closes without a DISCONNECT packet, so that the broker publishes the will (MQTT 5, section 3.1.2.5). */
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

	/** Reports each reason once until it is connected again. */
	#report(problem: string): void {
		const { core, mqtt } = this.#options;
		if (problem !== this.#problem)
			core.log.warn({ broker: mqtt.url, problem }, "MQTT: not connected, retrying");
		this.#problem = problem;
	}

	async #isTaken(what: "message" | "subscription", topic: string, done: Promise<unknown>): Promise<boolean> {
		try {
			await done;
		} catch (error) {
			const problem = rejectionOf(error);
			// Any other error concerns the connection, after which everything is repeated.
			if (problem === undefined) return true;
			this.#rejections.inc({ what });
			const key = `${what} ${topic}`;
			if (!this.#rejected.has(key)) {
				const { core, mqtt } = this.#options;
				core.log.warn(
					{ broker: mqtt.url, what, topic, problem },
					"MQTT: rejected by the broker. Allow it in its access control.",
				);
			}
			this.#rejected.add(key);
			return false;
		}
		return true;
	}
}

/** @returns reason of a rejection by the broker (MQTT 5), otherwise undefined */
function rejectionOf(error: unknown): string | undefined {
	if (error instanceof ErrorWithReasonCode) return `${error.message} (${error.code})`;
	if (!(error instanceof ErrorWithSubackPacket)) return undefined;
	const [reason] = error.packet?.granted ?? [];
	return reason === undefined ? undefined : `${error.message} (${reason})`;
}
