/** Home Assistant, as far as a broker sees it: it subscribes to what is discovered, checks it, and sends what its user interface sends. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { connectAsync, type MqttClient } from "mqtt";
import { onEnd } from "../../support/cleanup.js";
import type { Mosquitto } from "./mosquitto.js";
import { checkDiscovery, checkState, type Discovery, render } from "./schemas.js";

export interface Heard {
	readonly topic: string;
	readonly payload: string;
	readonly isRetained: boolean;
}

export class ScriptedHomeAssistant {
	/** Every message, replayed ones too. */
	readonly heard: Heard[] = [];
	/** By the device's serial number, a gateway's by its topics' base. */
	readonly devices = new Map<string, Discovery>();
	/** What the broker has, and events, by topic. */
	readonly states = new Map<string, string>();
	/** By topic: the device that is discovered there, or shown. */
	readonly #topics = new Map<string, string>();
	/** Devices whose siren is unknown until its next state: siren.py, _setup_from_config, forgets it with a new configuration. */
	readonly #unknownSirens = new Set<string>();
	/** Of rings, when they were last above 0. */
	readonly #brightness = new Map<string, number>();
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
			this.heard.push({ topic, payload, isRetained: retain });
			try {
				this.#take(topic, payload);
			} catch (error) {
				this.#failure ??= error;
			}
		});
	}

	#take(topic: string, payload: string): void {
		if (payload === "") this.states.delete(topic);
		else if (!topic.endsWith("/set")) this.states.set(topic, payload);
		const shown = this.#topics.get(topic) ?? "";
		if (!topic.endsWith("/config")) return this.#show(shown, topic);
		if (payload === "") return void this.devices.delete(shown);
		const discovery = checkDiscovery(topic, payload);
		const { serial_number: serial, identifiers } = discovery.device;
		const id = String(serial ?? identifiers);
		const before = this.devices.get(id);
		if (before && !isDeepStrictEqual(before, discovery)) this.#unknownSirens.add(id);
		this.devices.set(id, discovery);
		this.#topics.set(topic, id);
		for (const { state_topic: stateTopic } of Object.values(discovery.components))
			if (stateTopic !== undefined) this.#topics.set(String(stateTopic), id);
	}

	/** Checks the states of all entities that read a topic. */
	#show(deviceId: string, topic: string): void {
		const { components = {} } = this.devices.get(deviceId) ?? {};
		const keys = Object.keys(components).filter((key) => components[key]?.state_topic === topic);
		if (keys.includes("siren")) this.#unknownSirens.delete(deviceId);
		for (const key of keys) this.state(deviceId, key);
		const { brightness_scale: scale } = components.ring ?? {};
		const part = this.brightness(deviceId) / Number(scale);
		// As light/schema_basic.py: of a brightness of 0 the previous one is kept.
		if (part > 0) this.#brightness.set(deviceId, Math.min(Math.round(part * 255), 255));
	}

	/** Of its ring, as published; NaN: unknown. */
	brightness(deviceId: string): number {
		return Number(this.#ring(deviceId, "brightness"));
	}

	/** Of its ring, as "red,green,blue". */
	color(deviceId: string): string | undefined {
		return this.#ring(deviceId, "rgb");
	}

	/** Of its ring. */
	effect(deviceId: string): string | undefined {
		return this.#ring(deviceId, "effect");
	}

	#ring(deviceId: string, what: "brightness" | "rgb" | "effect"): string | undefined {
		const { ring } = this.devices.get(deviceId)?.components ?? {};
		const payload = this.states.get(String(ring?.[`${what}_state_topic`]));
		return payload === undefined ? undefined : render(ring?.[`${what}_value_template`], payload);
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

	/** What its template makes of the published state, checked; undefined: unknown. */
	state(deviceId: string, key: string): string | undefined {
		const config = this.devices.get(deviceId)?.components[key];
		const published = this.states.get(String(config?.state_topic));
		if (!config || published === undefined) return undefined;
		if (config.platform === "siren" && this.#unknownSirens.has(deviceId)) return undefined;
		const template = config.value_template ?? config.state_value_template;
		const state = template === undefined ? published : render(template, published);
		checkState(config, state);
		return state;
	}

	async shows(deviceId: string, key: string, state: string): Promise<void> {
		await this.until(() => this.state(deviceId, key) === state);
	}

	/** Of all its availability topics. */
	isAvailable(deviceId: string): boolean {
		const { availability = [] } = this.devices.get(deviceId) ?? {};
		return availability.length > 0 && availability.every(({ topic }) => this.states.get(topic) === "online");
	}

	/** As its user interface does. */
	async command(deviceId: string, key: string, payload: string): Promise<void> {
		await this.#client.publishAsync(String(this.entity(deviceId, key).command_topic), payload, { qos: 1 });
	}

	/** As light/schema_basic.py, async_turn_on. @param brightness 1 to 255; undefined: the latest one above 0 */
	async turnOn(
		deviceId: string,
		{ rgb, brightness, effect }: { rgb?: readonly number[]; brightness?: number; effect?: string } = {},
	) {
		const light = this.entity(deviceId, "ring");
		assert.equal(light.on_command_type, "brightness");
		const scale = Number(light.brightness_scale);
		if (rgb) await this.publish(String(light.rgb_command_topic), rgb.join(","));
		const part = (brightness ?? this.#brightness.get(deviceId) ?? 255) / 255;
		await this.publish(String(light.brightness_command_topic), String(Math.max(Math.round(part * scale), 1)));
		if (effect) await this.publish(String(light.effect_command_topic), effect);
	}

	async publish(topic: string, payload: string, retain = false): Promise<void> {
		await this.#client.publishAsync(topic, payload, { qos: 1, retain });
	}

	/** Of these topics until now. */
	count(topics: RegExp): number {
		return this.heard.filter(({ topic }) => topics.test(topic)).length;
	}

	get topics(): readonly string[] {
		return [...this.states.keys()];
	}
}
