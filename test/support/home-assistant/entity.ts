/** Entity of Home Assistant: state derived from its topics as in homeassistant/components/mqtt/<platform>.py. */

import assert from "node:assert/strict";
import { type Component, checkReading, type Reading, readings, render } from "./schemas.js";

export class SimulatedEntity {
	readonly entityId: string;
	#config: Component = {};
	/** Availability of its device by topic. */
	#availability = new Map<string, boolean>();
	readonly #values = new Map<Reading, string>();

	constructor(entityId: string) {
		this.entityId = entityId;
	}

	get config(): Component {
		return this.#config;
	}

	configure(config: Component, availability: readonly { readonly topic: string }[]): void {
		// siren.py, _setup_from_config, forgets its state; the others keep theirs.
		if (config.platform === "siren") this.#values.clear();
		this.#config = config;
		// entity.py, MqttAvailabilityMixin: an unchanged topic keeps its last payload.
		const said = this.#availability;
		this.#availability = new Map(availability.map(({ topic }) => [topic, said.get(topic) ?? false]));
	}

	get topics(): ReadonlySet<string> {
		const read = readings.flatMap((reading) => this.#topicOf(reading) ?? []);
		return new Set([...this.#availability.keys(), ...read]);
	}

	get isAvailable(): boolean {
		return [...this.#availability.values()].every(Boolean);
	}

	/** @returns the rendered template for the latest payload; undefined: unknown */
	value(reading: Reading = "state"): string | undefined {
		return this.#values.get(reading);
	}

	/** Brightness of a light, 1 to 255: light/schema_basic.py, _brightness_received. */
	get brightness(): number | undefined {
		const value = this.value("brightness_state");
		const scale = Number(this.#config.brightness_scale);
		return value === undefined ? undefined : Math.min(Math.round((Number(value) / scale) * 255), 255);
	}

	/** @param isRetained by the broker. @throws if Home Assistant would reject the payload */
	take(topic: string, payload: string, isRetained: boolean): void {
		if (this.#availability.has(topic) && /^(online|offline)$/.test(payload))
			this.#availability.set(topic, payload === "online");
		for (const reading of readings) {
			if (this.#topicOf(reading) !== topic) continue;
			// event.py, _event_received, ignores a replayed event.
			assert.ok(!isRetained || this.#config.platform !== "event", `${this.entityId}: a retained event`);
			const template =
				this.#config[`${reading.replace("state", "value")}_template`] ??
				this.#config[`${reading}_value_template`];
			const value = template === undefined ? payload : render(template, payload);
			if (value === "") continue;
			checkReading(this.#config, reading, value);
			// light/schema_basic.py, _brightness_received, keeps the previous one.
			if (reading !== "brightness_state" || Number(value) > 0) this.#values.set(reading, value);
		}
	}

	#topicOf(reading: Reading): string | undefined {
		const topic = this.#config[`${reading}_topic`];
		return topic === undefined ? undefined : String(topic);
	}
}
