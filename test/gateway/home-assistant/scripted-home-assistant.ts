/** Home Assistant, as far as a broker sees it: it subscribes to what is discovered, checks it, and sends what its user interface sends. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { onEnd } from "../../support/cleanup.js";
import type { Mosquitto } from "./mosquitto.js";
import { checkDiscovery, checkState, type Discovery } from "./schemas.js";

export interface Heard {
	readonly topic: string;
	readonly payload: string;
	readonly isRetained: boolean;
	readonly at: number;
}

export class ScriptedHomeAssistant {
	/** Every message, replayed ones too. */
	readonly heard: Heard[] = [];
	/** By the device's serial number. */
	readonly devices = new Map<string, Discovery>();
	/** By topic. */
	readonly #states = new Map<string, string>();
	readonly #topics = new Map<string, string>();
	readonly #client: MqttClient;
	#failure: unknown;

	static async start(t: TestContext, { settings }: Mosquitto): Promise<ScriptedHomeAssistant> {
		const client = await connectAsync(settings.url, { protocolVersion: 5, reconnectPeriod: 50 });
		onEnd(t, () => client.endAsync(true));
		client.on("error", () => {});
		const home = new ScriptedHomeAssistant(client);
		await client.subscribeAsync(["homeassistant/#", "device-gateway/#"], { qos: 1 });
		return home;
	}

	private constructor(client: MqttClient) {
		this.#client = client;
		client.on("message", (topic, content, { retain }) => {
			const payload = content.toString();
			this.heard.push({ topic, payload, isRetained: retain, at: performance.now() });
			try {
				this.#take(topic, payload);
			} catch (error) {
				this.#failure ??= error;
			}
		});
	}

	#take(topic: string, payload: string): void {
		if (payload === "") this.#states.delete(topic);
		else if (!topic.endsWith("/set")) this.#states.set(topic, payload);
		if (!topic.endsWith("/config")) return;
		if (payload === "") return void this.devices.delete(this.#topics.get(topic) ?? "");
		const discovery = checkDiscovery(topic, payload);
		const id = String(discovery.device.serial_number);
		this.#topics.set(topic, id);
		this.devices.set(id, discovery);
	}

	/** Resolves once it is so. Fails if anything was published that Home Assistant would refuse, and after two minutes. */
	async until(isSo: () => boolean): Promise<void> {
		const end = performance.now() + 120_000;
		while (!isSo()) {
			if (this.#failure) throw this.#failure;
			assert.ok(performance.now() < end, `not within two minutes: ${isSo}`);
			await setTimeout(5);
		}
		if (this.#failure) throw this.#failure;
	}

	entity(deviceId: string, key: string): Readonly<Record<string, unknown>> {
		const entity = this.devices.get(deviceId)?.components[key];
		assert.ok(entity, `${deviceId} has no ${key}`);
		return entity;
	}

	/** Its state, checked; undefined: unknown. */
	state(deviceId: string, key: string): string | undefined {
		const config = this.devices.get(deviceId)?.components[key];
		const state = this.#states.get(String(config?.state_topic));
		if (config && state !== undefined) checkState(String(config.platform), config, state);
		return state;
	}

	async shows(deviceId: string, key: string, state: string): Promise<void> {
		await this.until(() => this.state(deviceId, key) === state);
	}

	/** Of all its availability topics. */
	isAvailable(deviceId: string): boolean {
		const { availability = [] } = this.devices.get(deviceId) ?? {};
		return availability.length > 0 && availability.every(({ topic }) => this.#states.get(topic) === "online");
	}

	/** As its user interface does. */
	async command(deviceId: string, key: string, payload: string): Promise<void> {
		await this.#client.publishAsync(String(this.entity(deviceId, key).command_topic), payload, { qos: 1 });
	}

	async publish(topic: string, payload: string, retain = false): Promise<void> {
		await this.#client.publishAsync(topic, payload, { qos: 1, retain });
	}

	/** Of these topics until now. */
	count(topics: RegExp): number {
		return this.heard.filter(({ topic }) => topics.test(topic)).length;
	}

	/** Topics that the broker has something for. */
	get topics(): readonly string[] {
		return [...this.#states.keys()];
	}
}
