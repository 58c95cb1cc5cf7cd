/**
 * Minimal Home Assistant on a real broker: discovers devices, tracks the states of their entities and executes
 * actions. Each behavior names its source below homeassistant/ of https://github.com/home-assistant/core
 * (Apache-2.0). A warning or error that Home Assistant would log fails the test.
 */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { connect, type MqttClient } from "mqtt";
import { onEnd } from "../cleanup.js";
import { nextEvent, waitUntil } from "../eventually.js";
import type { Mosquitto } from "../mosquitto.js";
import { SimulatedEntity } from "./entity.js";
import { type Component, checkDiscovery, type Discovery, type Reading } from "./schemas.js";

/** mqtt/const.py, DISCOVERY_COOLDOWN, is 5 s. */
const cooldownMs = 20;
const birthTopic = "homeassistant/status";
const will = { topic: birthTopic, payload: Buffer.from("offline"), qos: 0, retain: false } as const;

interface LightOptions {
	readonly rgb?: readonly number[];
	/** 1 to 255; undefined: the latest one. */
	readonly brightness?: number;
	readonly effect?: string;
}

export class SimulatedHomeAssistant {
	/** Every message from the broker, including replayed ones. */
	readonly heard: { readonly topic: string; readonly payload: string }[] = [];
	/** Discovery with all components, by serial number of a device or base topic of a gateway. */
	readonly devices = new Map<string, Discovery>();
	/** Retained payloads and events of this connection by topic. */
	readonly states = new Map<string, string>();
	readonly #url: string;
	readonly #hasBirth: boolean;
	/** Topics of `states` that are retained. */
	readonly #retained = new Set<string>();
	/** Owner by discovery topic. */
	readonly #ids = new Map<string, string>();
	/** Entities by device and key, all enabled. */
	readonly #entities = new Map<string, Map<string, SimulatedEntity>>();
	/** Configuration of each entity. */
	readonly #sources = new WeakMap<SimulatedEntity, string>();
	readonly #readers = new Map<string, Set<SimulatedEntity>>();
	readonly #events = new EventEmitter();
	#client: MqttClient;
	#hasDiscovered = false;
	#failure: unknown;

	/** Resolves once it has started. @param hasBirth whether it publishes its birth message */
	static async start(
		t: TestContext,
		{ settings }: Pick<Mosquitto, "settings">,
		{ hasBirth = true } = {},
	): Promise<SimulatedHomeAssistant> {
		const home = new SimulatedHomeAssistant(settings.url, hasBirth);
		onEnd(t, () => {
			home.close();
			home.#check();
		});
		await nextEvent(home.#events, "started");
		return home;
	}

	private constructor(url: string, hasBirth: boolean) {
		this.#url = url;
		this.#hasBirth = hasBirth;
		this.#client = this.#connect();
	}

	/** mqtt/client.py, async_disconnect: without a DISCONNECT packet, so that the broker publishes its will. */
	close(): void {
		this.#client.end(true);
	}

	/** Restarts and forgets everything. Resolves once it has started again. */
	async restart(): Promise<void> {
		this.close();
		const { devices, states } = this;
		for (const known of [devices, states, this.#retained, this.#ids, this.#entities, this.#readers])
			known.clear();
		this.#client = this.#connect();
		await nextEvent(this.#events, "started");
	}

	/** mqtt/client.py, _async_mqtt_on_connect: subscribes to all topics again at each connection. */
	#connect(): MqttClient {
		const options = { protocolVersion: 5, reconnectPeriod: 1_000, resubscribe: false, will } as const;
		const client = connect(this.#url, options);
		client.on("error", () => {});
		client.on("connect", () => {
			this.states.clear();
			this.#retained.clear();
			// Entities read the payload; the message's flag tells whether it is retained.
			client.subscribe(["homeassistant/#", "device-gateway/#"], { qos: 1, rap: true });
			void this.#start(client);
		});
		client.on("message", (topic, content, { retain }) => {
			if (client !== this.#client) return;
			const payload = content.toString();
			this.heard.push({ topic, payload });
			try {
				this.#take(topic, payload, retain);
			} catch (error) {
				this.#failure ??= error;
			}
		});
		return client;
	}

	/** mqtt/client.py, _async_resubscribe_and_publish_birth_message: after the last discovery message. */
	async #start(client: MqttClient): Promise<void> {
		do {
			this.#hasDiscovered = false;
			await setTimeout(cooldownMs);
		} while (this.#hasDiscovered);
		if (client.connected && this.#hasBirth) client.publish(birthTopic, "online");
		this.#events.emit("started");
	}

	#take(topic: string, payload: string, isRetained: boolean): void {
		if (payload === "") {
			this.states.delete(topic);
			this.#retained.delete(topic);
		} else if (!topic.endsWith("/set")) {
			this.states.set(topic, payload);
			if (isRetained) this.#retained.add(topic);
		}
		if (topic.endsWith("/config")) this.#discover(topic, payload);
		for (const entity of this.#readers.get(topic) ?? []) entity.take(topic, payload, isRetained);
	}

	/** mqtt/discovery.py, async_discovery_message_received, of the device schema. */
	#discover(topic: string, payload: string): void {
		this.#hasDiscovered = true;
		if (payload === "") {
			const id = this.#ids.get(topic) ?? "";
			for (const key of this.#entities.get(id)?.keys() ?? []) this.#removeEntity(id, key);
			return;
		}
		const { components, removed, ...shared } = checkDiscovery(topic, payload);
		const id = String(shared.device.serial_number ?? shared.device.identifiers);
		this.#ids.set(topic, id);
		const entities = this.#entities.get(id) ?? new Map<string, SimulatedEntity>();
		this.#entities.set(id, entities);
		for (const [key, platform] of Object.entries(removed))
			if (entities.get(key)?.config.platform === platform) this.#removeEntity(id, key);
		for (const [key, config] of Object.entries(components)) {
			const entity = entities.get(key) ?? new SimulatedEntity(String(config.unique_id));
			entities.set(key, entity);
			this.#configure(entity, config, shared);
		}
		// An unnamed component stays: only an entry with its platform alone removes it.
		const all = Object.fromEntries([...entities].map(([key, { config }]) => [key, config]));
		this.devices.set(id, { ...shared, components: all, removed: {} });
	}

	#configure(entity: SimulatedEntity, config: Component, shared: Pick<Discovery, "availability">): void {
		const { topics } = entity;
		// mqtt/entity.py, _async_discovery_callback: an unchanged component is ignored.
		const source = JSON.stringify([shared, config]);
		if (this.#sources.get(entity) === source) return;
		this.#sources.set(entity, source);
		// Another platform would create another entity beside the existing one.
		assert.ok(
			[undefined, config.platform].includes(entity.config.platform),
			`${config.unique_id}: ${config.platform}`,
		);
		entity.configure(config, shared.availability);
		for (const topic of topics) if (!entity.topics.has(topic)) this.#readers.get(topic)?.delete(entity);
		// mqtt/subscription.py, EntitySubscription: subscribes only to a new topic, whose messages the broker
		// replays.
		for (const topic of entity.topics) {
			if (topics.has(topic)) continue;
			const readers = this.#readers.get(topic) ?? new Set();
			this.#readers.set(topic, readers.add(entity));
			if (this.#retained.has(topic)) entity.take(topic, this.states.get(topic) ?? "", true);
		}
	}

	#removeEntity(id: string, key: string): void {
		const entities = this.#entities.get(id);
		const entity = entities?.get(key);
		if (!entity) return;
		entities?.delete(key);
		for (const topic of entity.topics) this.#readers.get(topic)?.delete(entity);
		if (entities?.size === 0) this.devices.delete(id);
	}

	/** Resolves once the condition is true. Rejects at the next warning that Home Assistant would have logged. */
	async until(isSo: () => boolean): Promise<void> {
		this.#check();
		await waitUntil(isSo, async () => {
			await setTimeout(5);
			this.#check();
		});
	}

	#check(): void {
		const failure = this.#failure;
		this.#failure = undefined;
		if (failure) throw failure;
	}

	find(deviceId: string, key: string): SimulatedEntity {
		return this.#entities.get(deviceId)?.get(key) ?? assert.fail(`${deviceId} has no ${key}`);
	}

	/** Keys by which Home Assistant stores the entities of a device, with the names and areas that users give them. */
	entityIds(deviceId: string): readonly string[] {
		const { device, components = {} } = this.devices.get(deviceId) ?? {};
		return Object.values(components).map(
			({ platform, unique_id: id }) => `${device?.identifiers} ${platform} ${id}`,
		);
	}

	/** undefined: unknown. */
	state(deviceId: string, key: string, reading?: Reading): string | undefined {
		return this.#entities.get(deviceId)?.get(key)?.value(reading);
	}

	/** Keys of entities with unknown state. An event has a state only after its first event. */
	unknown(deviceId: string): readonly string[] {
		const entities = [...(this.#entities.get(deviceId) ?? [])];
		return entities.flatMap(([key, entity]) => {
			const hasState = !["event", "button", "notify"].includes(String(entity.config.platform));
			return hasState && entity.value() === undefined ? [key] : [];
		});
	}

	async shows(deviceId: string, key: string, state: string): Promise<void> {
		await this.until(() => this.state(deviceId, key) === state);
	}

	/** mqtt/entity.py, available: by the connection to the broker and all its availability topics. */
	isAvailable(deviceId: string): boolean {
		const entities = [...(this.#entities.get(deviceId)?.values() ?? [])];
		return this.#client.connected && entities.length > 0 && entities.every(({ isAvailable }) => isAvailable);
	}

	/** Publishes any payload to a command topic of an entity. */
	async command(deviceId: string, key: string, payload: string, prefix = ""): Promise<void> {
		await this.publish(String(this.find(deviceId, key).config[`${prefix}command_topic`]), payload);
	}

	/** light/__init__.py, async_handle_light_on_service; mqtt/light/schema_basic.py, async_turn_on: one message each. */
	async turnOn(deviceId: string, { rgb, brightness, effect }: LightOptions = {}): Promise<void> {
		const light = this.find(deviceId, "ring");
		const { config } = light;
		assert.equal(config.on_command_type, "brightness");
		const scale = Number(config.brightness_scale);
		const scaled = Math.min(Math.round(((brightness ?? light.brightness ?? 255) / 255) * scale), scale);
		// Unlisted effects are silently ignored.
		const { effect_list: effects } = config;
		assert.ok(!effect || (Array.isArray(effects) && effects.includes(effect)), `${effect} is no effect`);
		if (rgb) await this.command(deviceId, "ring", rgb.join(","), "rgb_");
		await this.command(deviceId, "ring", String(Math.max(scaled, 1)), "brightness_");
		if (effect) await this.command(deviceId, "ring", effect, "effect_");
	}

	async publish(topic: string, payload: string, retain = false): Promise<void> {
		await this.#client.publishAsync(topic, payload, { qos: 1, retain });
	}

	/** Number of messages at these topics so far. */
	count(topics: RegExp): number {
		return this.heard.filter(({ topic }) => topics.test(topic)).length;
	}

	get topics(): readonly string[] {
		return [...this.states.keys()];
	}
}
